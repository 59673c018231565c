// SPDX-License-Identifier: Apache-2.0
// What the replay check knows of a sweep, without a state: which states it looks at, what it compares, and what it
// forgets.
#include <cstdint>
#include <limits>
#include <map>
#include <random>
#include <set>
#include <string>
#include <vector>
#include <cairn/rules/detail/replay_ledger.hpp>
#include <cairn/rules/replay_check.hpp>
#include "support/catch.hpp"
#include "support/heap.hpp"
#include "support/plans.hpp"

using namespace cairn;
using detail::replay_ledger;

namespace {

std::uint64_t hash_of_state(step_index i) { return std::uint64_t(i) * 0x9e3779b97f4a7c15 | 1; }

/// Obeys a plan on numbers in place of states, and compares what the ledger compares with a book of its own.
struct rehearsal {
  replay_ledger ledger;
  step_index live = 0, farthest = 0;
  std::map<slot_index, step_index> slots, tapes;
  bool by_steps = false;  ///< a run is reported step by step, as that of a loop whose end is not known
  std::uint64_t replays = 0, uncompared = 0, looks = 0;
  step_index stretch = -1;  ///< where live was brought back, while steps that ran before run again
  bool good = true;

  void look() {
    auto const before = ledger.compared();
    good = good && ledger.note(live, hash_of_state(live));
    if (ledger.compared() > before) stretch = live;
    ++looks;
  }
  void run(step_index to) {
    if (by_steps)
      for (step_index i = live + 1; i < to; ++i) run_at_once(i);
    run_at_once(to);
  }
  void run_at_once(step_index to) {
    step_index at = live;
    for (step_index next = at;; at = next + 1) {
      next = ledger.next_check(at, to);
      step_index const reach = next < to ? next : to;
      live = reach;
      if (next <= to) look();
      if (next >= to) break;
    }
    ledger.reached(to);
    farthest = to > farthest ? to : farthest;
  }
  /// Everything that has been run again since a state was brought back must have been compared at its end.
  void settle() {
    if (stretch >= 0 && stretch < live) ++uncompared;
    stretch = -1;
  }
  void bring_back(slot_index place, step_index i) {
    settle();
    live = i;
    stretch = i;
    good = good && ledger.loaded(place, i, hash_of_state(i));
    ++replays;
  }
  template <class Plan>
  void obey(Plan const& plan, replay_check mode) {
    ledger.begin({mode, plan.steps(), plan.leaf(), plan.slots(), tapes_of(plan)});
    good = good && ledger.saved(ledger.initial_place(), 0, hash_of_state(0));
    for (action const& a : actions_of(plan)) {
      switch (a.kind) {
        case action_kind::advance: run(a.to); break;
        case action_kind::turn: {
          step_index const from = live;
          run(a.to);
          live = from;
          stretch = -1;
          break;
        }
        case action_kind::save:
          slots[a.slot] = a.from;
          good = good && ledger.saved(a.slot, a.from, hash_of_state(a.from));
          break;
        case action_kind::load:
          if (a.what == content::tape) bring_back(ledger.place_of_tape(a.slot), a.from);
          else bring_back(a.slot == no_slot ? ledger.initial_place() : a.slot, a.from);
          break;
        case action_kind::record: {
          step_index const from = live;
          run(a.to);
          good = good && ledger.saved(ledger.place_of_tape(a.slot), a.to, hash_of_state(a.to));
          if (stretch == from) stretch = -1;
          break;
        }
        case action_kind::reverse:
          if (a.what == content::state) settle();
          stretch = -1;
          ledger.reversed(a.from);
          break;
        default: break;
      }
    }
  }
};

}  // namespace

TEST_CASE(
    "a ledger compares the end of everything that is run again, for every schedule, and finds no difference where "
    "there is none") {
  std::uint64_t replays = 0, compared = 0;
  for (step_index const n : {0, 1, 2, 3, 7, 13, 40, 100})
    each_as_any(n, [&](std::string const& name, auto const& plan) {
      for (auto const mode : {replay_check::checkpoints, replay_check::every_step}) {
        INFO(name << ", mode " << int(mode));
        rehearsal sweep;
        sweep.obey(plan, mode);
        CHECK(sweep.good);
        CHECK(sweep.uncompared == 0);
        replays += sweep.replays;
        compared += sweep.ledger.compared();
      }
    });
  CHECK(replays > 10'000);
  CHECK(compared > replays);
}

TEST_CASE(
    "a ledger has room for all that it needs, however many states it is shown and however often places are filled "
    "anew") {
  std::mt19937 random{5};
  for (int round = 0; round < 300; ++round) {
    auto const n = step_index(random() % 400), s = step_index(1 + random() % 12);
    INFO(n << " steps, " << s << " slots");
    auto const check = [](char const* name, auto const& plan) {
      for (bool const by_steps : {false, true}) {
        INFO(name << (by_steps ? " step by step" : ""));
        rehearsal sweep;
        sweep.by_steps = by_steps;
        sweep.obey(plan, replay_check::checkpoints);
        CHECK(sweep.good);
        CHECK(sweep.uncompared == 0);
      }
    };
    check("online", online{s}.stopping_at(n));
    check("eager online", online{s, {.eager = true}}.stopping_at(n));
    check("revolve", revolve{n, s});
    check("mixed", mixed{n % 60, s, {.tape_units = 1 + s % 3, .tapes_restart = round % 2 == 0}});
  }
}

TEST_CASE(
    "a ledger finds a state that differs at the end of what is run again, and names the steps that ran since the last "
    "one that agreed") {
  replay_ledger ledger;
  ledger.begin({replay_check::checkpoints, 10, 1, 1, 0});
  REQUIRE(ledger.saved(0, 0, 100));
  CHECK(ledger.next_check(0, 9) == 8);  // before the turn of step 9
  REQUIRE(ledger.note(8, 108));
  CHECK(ledger.next_check(9, 9) == 10);
  ledger.reversed(9);
  REQUIRE(ledger.loaded(0, 0, 100));
  CHECK(ledger.next_check(0, 8) == 7);
  REQUIRE(ledger.note(7, 107));
  CHECK(ledger.next_check(8, 8) == 8);
  CHECK_FALSE(ledger.note(8, 999));
  try {
    ledger.fail(8, {3, 0.5, -0.5});
    FAIL("no exception");
  } catch (nondeterminism_error const& e) {
    CHECK(e.found.state == 8);
    CHECK(e.found.first_step == 0);  // state 7 had not been looked at before
    CHECK(e.found.last_step == 7);
    CHECK(e.found.number == 3);
    CHECK(e.found.first == 0.5);
    CHECK(e.found.again == -0.5);
  }
}

TEST_CASE("a ledger that looks at every step names the first one that differs") {
  replay_ledger ledger;
  ledger.begin({replay_check::every_step, 10, 1, 1, 0});
  for (step_index i = 0; i < 10; ++i) {
    CHECK(ledger.next_check(i, 9) == i);
    REQUIRE(ledger.note(i, hash_of_state(i)));
  }
  REQUIRE(ledger.loaded(0, 3, hash_of_state(3)));
  REQUIRE(ledger.note(4, hash_of_state(4)));
  CHECK_FALSE(ledger.note(5, hash_of_state(6)));
  try {
    ledger.fail(5);
    FAIL("no exception");
  } catch (nondeterminism_error const& e) {
    CHECK(std::string{e.what()} ==
          "cairn: replay check: a state that was run again is not what it was at first (state = 5, step = 4); put all "
          "that the step reads and "
          "changes into the state (members, statics, random generators), and write all of x1");
    CHECK(e.found.number == -1);
  }
}

TEST_CASE("a ledger finds what comes back from a place with other bytes") {
  for (auto const mode : {replay_check::checkpoints, replay_check::every_step}) {
    replay_ledger ledger;
    ledger.begin({mode, 10, 1, 2, 1});
    REQUIRE(ledger.saved(0, 0, 100));
    REQUIRE(ledger.saved(1, 5, 105));
    REQUIRE(ledger.saved(ledger.place_of_tape(0), 7, 107));
    CHECK(ledger.loaded(1, 5, 105));
    CHECK(ledger.loaded(ledger.place_of_tape(0), 7, 107));
    CHECK_FALSE(ledger.loaded(1, 5, 106));
    CHECK_FALSE(ledger.loaded(ledger.place_of_tape(0), 7, 7));
    CHECK_THROWS_AS(detail::refuse_loaded(5), nondeterminism_error);
    CHECK_FALSE(ledger.saved(1, 5, 106));  // run again, and kept there again
  }
}

TEST_CASE("a ledger of a kept run knows again at its second reversal what it knew at the turn") {
  replay_ledger ledger;
  ledger.begin({replay_check::checkpoints, 10, 1, 1, 0, true});
  REQUIRE(ledger.saved(0, 0, 100));
  REQUIRE(ledger.note(8, 108));
  ledger.remember();
  ledger.reversed(0);
  CHECK(ledger.next_check(0, 9) == 8);  // it would be noted, not compared
  ledger.rewind();
  CHECK_FALSE(ledger.note(8, 999));
  CHECK_FALSE(ledger.loaded(0, 0, 999));
}

TEST_CASE("a ledger takes the predicted bytes, and none when it begins again") {
  for (auto const mode : {replay_check::off, replay_check::checkpoints, replay_check::every_step})
    for (bool const keeps : {false, true}) {
      heap::mark const mark;
      replay_ledger ledger;
      ledger.begin({mode, 1000, 1, 20, 3, keeps});
      CHECK(mark.rise() == replay_check_bytes(mode, {.steps = 1000, .slots = 20, .tapes = 3, .keeps_run = keeps}));
      auto const allocated = mark.allocated();
      ledger.begin({mode, 1000, 1, 20, 3, keeps});
      CHECK(mark.allocated() == allocated);
    }
  CHECK(replay_check_bytes(replay_check::checkpoints, {.slots = 1000}) <= 48 * 1000 + 200);
}

TEST_CASE("a table of a loop of unknown length grows in place: it always holds the predicted bytes") {
  for (step_index const n : {0, 1, 62, 63, 64, 127, 128, 1000, 4095, 4096, 5000}) {
    CAPTURE(n);
    replay_ledger ledger;
    auto const told = replay_check_bytes(replay_check::every_step, {.steps = n, .learns_length = true});
    CHECK((told >= 8 * cairn::wide(n + 1) && told <= 16 * cairn::wide(n) + 512));
    heap::mark const mark;
    ledger.begin({replay_check::every_step, replay_ledger::unknown, 1, 3, 0, true});
    for (step_index i = 0; i <= n; ++i) REQUIRE(ledger.note(i, std::uint64_t(i) + 7));
    CHECK(mark.rise() == told);
    // Each state is known again, and in the next loop none is; its table takes no memory where it is no longer.
    for (step_index i = n; i >= 0; --i) REQUIRE(ledger.note(i, std::uint64_t(i) + 7));
    CHECK(ledger.compared() == std::uint64_t(n) + 1);
    CHECK_FALSE(ledger.note(n, 1));
    auto const allocated = mark.allocated();
    ledger.begin({replay_check::every_step, replay_ledger::unknown, 1, 3, 0, true});
    for (step_index i = 0; i <= n; ++i) REQUIRE(ledger.note(i, 99 + std::uint64_t(i)));
    CHECK(ledger.compared() == 0);
    CHECK(mark.allocated() == allocated);
    // A loop of known length after it keeps only its own table.
    ledger.begin({replay_check::every_step, 2, 1, 3, 0, true});
    CHECK(ledger.note(2, 5));
    CHECK(heap::held - mark.before == 8 * 64);
  }
}

TEST_CASE("a table of more steps than there is memory for is refused in words") {
  replay_ledger ledger;
  CHECK_THROWS_AS(ledger.begin({replay_check::every_step, step_index{1} << 60, 1, 1, 0}), out_of_memory);
  CHECK_THROWS_AS(ledger.begin({replay_check::every_step, std::numeric_limits<step_index>::max(), 1, 1, 0}),
                  out_of_memory);
  ledger.begin({replay_check::checkpoints, std::numeric_limits<step_index>::max(), 1, 1, 0});
}

TEST_CASE("a ledger of a loop of unknown length grows with it") {
  replay_ledger ledger;
  ledger.begin({replay_check::every_step, replay_ledger::unknown, 1, 1, 0});
  for (step_index i = 0; i < 1000; ++i) REQUIRE(ledger.note(i, hash_of_state(i)));
  for (step_index i = 0; i < 1000; ++i) {
    CHECK(ledger.note(i, hash_of_state(i)));
    CHECK_FALSE(ledger.note(i, hash_of_state(i + 1)));
  }
}
