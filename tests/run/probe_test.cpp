// SPDX-License-Identifier: Apache-2.0
// A probe measures real steps: on a clock that only the steps move, its times are exact.
#include <array>
#include <chrono>
#include <cmath>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <utility>
#include <vector>
#include <cairn/cairn.hpp>
#include <cairn/planning.hpp>
#include <cairn/run/probe.hpp>
#include "support/catch.hpp"
#include "support/heap.hpp"

using namespace cairn;

namespace {

/// Milliseconds that steps and adjoints add themselves.
struct fake_clock {
  using duration = std::chrono::duration<long, std::milli>;
  static inline duration time{0};
  static duration now() { return time; }
  static void pass(long milliseconds) { time += duration{milliseconds}; }
};

using field = std::vector<double>;
field const start(100, 1.0);
constexpr std::size_t field_bytes = sizeof(field) + 100 * sizeof(double);

void forward(field& x) {
  fake_clock::pass(7);
  for (double& e : x) e *= 0.5;
}
void back(field& bar) {
  fake_clock::pass(11);
  for (double& e : bar) e *= 0.5;
}
auto const in_place_step = [](field& x, step_index) { forward(x); };
auto const seed = [](field const& x) { return x; };
auto const adjoint = [](field const&, field& bar, step_index) { back(bar); };

void check(workload const& work, step_form step, adjoint_form form) {
  CHECK(work.steps == 1000);
  CHECK(work.state_bytes == field_bytes);
  CHECK(work.state_inline_bytes == sizeof(field));
  CHECK(work.initial_bytes == wide{field_bytes});
  CHECK(work.adjoint_bytes == field_bytes);
  CHECK(work.adjoint_seconds == Approx(0.011));
  CHECK(work.form.step == step);
  CHECK(work.form.adjoint == form);
  if (form != adjoint_form::recorded) CHECK(work.step_seconds == Approx(0.007));
}

}  // namespace

TEST_CASE("a probe measures sizes and times and reports the forms", "[run][probe]") {
  check(probe<fake_clock>(in_place_step, start, 1000, seed, adjoint), step_form::in_place, adjoint_form::one_step);
  auto const by_value_step = [](field const& x) { field x1 = x; forward(x1); return x1; };
  check(probe<fake_clock>(by_value_step, start, 1000, start, adjoint), step_form::by_value, adjoint_form::one_step);
  auto const out_of_place_step = [](field const& x, field& x1, step_index) { x1 = x; forward(x1); };
  auto const with_next_adjoint = [](field const&, field const&, field& bar, step_index) { back(bar); };
  check(probe<fake_clock>(out_of_place_step, start, 1000, seed, with_next_adjoint), step_form::out_of_place,
        adjoint_form::with_next);
  auto const leaf_adjoint = [](field const&, field& bar, step_index, step_index) { back(bar); };
  check(probe<fake_clock>(in_place_step, start, 1000, seed, leaf_adjoint), step_form::in_place, adjoint_form::leaf);
  auto const one_by_value = [](field const&, field const& bar, step_index) { field sum = bar; back(sum); return sum; };
  auto const work = probe<fake_clock>(in_place_step, start, 1000, seed, one_by_value);
  check(work, step_form::in_place, adjoint_form::one_step);
  CHECK(work.form.adjoint_by_value);
}

TEST_CASE("a probe asks an adjoint what a leaf holds, and does not guess", "[run][probe]") {
  auto const silent = [](field const&, field& bar, step_index, step_index) { back(bar); };
  CHECK(probe<fake_clock>(in_place_step, start, 1000, seed, silent).tape_bytes == unknown_bytes);
  struct telling {
    std::size_t first, each, more;
    step_index beyond;
    void operator()(field const&, field& bar, step_index, step_index) const { back(bar); }
    [[nodiscard]] std::size_t leaf_bytes(step_index steps) const {
      return first + each * std::size_t(steps) + (steps > beyond ? more * std::size_t(steps - beyond) : 0);
    }
  };
  auto const asked = [](step_index steps, telling const& says) {
    return probe<fake_clock>(in_place_step, start, steps, seed, says);
  };
  auto const straight = asked(1000, {100, 800, 0, 0});
  CHECK((straight.tape_bytes == 100 && straight.tape_step_bytes == 800));
  CHECK(asked(1000, {100, 0, 0, 0}).tape_step_bytes == 0);
  telling const bent{100, 800, 50, 40};
  auto const above = asked(1000, bent);
  for (step_index leaf = 1; leaf <= 1000; leaf *= 2)
    CHECK(above.tape_bytes + wide(leaf) * above.tape_step_bytes >= bent.leaf_bytes(leaf));
  for (step_index const steps : {0, 1, 2}) {
    auto const few = asked(steps, {100, 800, 0, 0});
    CHECK(few.tape_bytes + few.tape_step_bytes == (steps > 0 ? 900u : 0u));
  }
  struct single {
    void operator()(field const&, field& bar, step_index) const { back(bar); }
    [[nodiscard]] std::size_t leaf_bytes(step_index) const { return 77; }
  };
  CHECK(probe<fake_clock>(in_place_step, start, 1000, seed, single{}).tape_bytes == 77);
}

TEST_CASE("a probe measures tapes and calls of record", "[run][probe]") {
  auto const record = [](field& x, step_index) { field kept = x; forward(x); fake_clock::pass(20); return kept; };
  auto const reverse = [](field const&, field& bar) { back(bar); };
  auto const work = probe<fake_clock>(in_place_step, start, 1000, seed, recorded{record, reverse});
  check(work, step_form::in_place, adjoint_form::recorded);
  REQUIRE(work.record_seconds);
  CHECK(*work.record_seconds == Approx(0.027));
  CHECK(work.tape_bytes == field_bytes + sizeof(std::optional<field>) - sizeof(field));
  CHECK(work.tape_inline_bytes == sizeof(std::optional<field>));
  CHECK_FALSE(work.tapes_restart);
  auto const none = probe<fake_clock>(in_place_step, start, 0, seed, recorded{record, reverse});
  CHECK((none.tape_bytes == 0 && none.tape_inline_bytes == 0));
  CHECK(probe<fake_clock>(in_place_step, start, 1000, seed,
                          recorded{record, reverse, [](field const& kept) { return kept; }})
            .tapes_restart);
}

namespace {

/// A state that is copied in time: in 3 ms into new memory, in 2 ms into old.
struct slowly_copied {
  long steps = 0;
  slowly_copied() = default;
  slowly_copied(slowly_copied const& from) : steps{from.steps} { fake_clock::pass(3); }
  slowly_copied& operator=(slowly_copied const& from) {
    fake_clock::pass(2);
    steps = from.steps;
    return *this;
  }
  [[nodiscard]] std::size_t bytes() const { return sizeof *this; }
};
/// A tape that stays where it was made.
struct pinned {
  pinned() = default;
  pinned(pinned const&) = delete;
  [[nodiscard]] std::size_t bytes() const { return sizeof *this; }
};

}  // namespace

TEST_CASE("a probe measures copies: checkpoints of a step in place cost one, new memory costs more", "[run][probe]") {
  auto const step = [](slowly_copied& x) { fake_clock::pass(7), ++x.steps; };
  auto const reverse = [](slowly_copied const&, double&) { fake_clock::pass(11); };
  auto const work = probe<fake_clock>(step, slowly_copied{}, 1000, 1.0, reverse, 1);
  CHECK(work.tiers.memory.write_seconds == Approx(0.002));
  CHECK(work.frame_seconds == Approx(0.001));
  CHECK(work.tiers.memory.read_seconds == 0);
  auto const elsewhere = [&](slowly_copied const&, slowly_copied& x1) { step(x1); };
  auto const between = probe<fake_clock>(elsewhere, slowly_copied{}, 1000, 1.0, reverse, 1);
  CHECK(between.tiers.memory.write_seconds == 0);
  CHECK(between.frame_seconds == Approx(0.001));
  CHECK(probe<fake_clock>(step, slowly_copied{}, 0, 1.0, reverse, 1).frame_seconds == 0);
}

TEST_CASE("the last of the states tried counts, too, if only a recording adjoint makes it", "[run][probe]") {
  auto const step = [](field& x) { forward(x), x.push_back(1), x.shrink_to_fit(); };
  auto const reverse = [](auto const&, double&) { fake_clock::pass(11); };
  auto const movable = [&](field& x) { return step(x), x.size(); };
  auto const fixed = [&](field& x) { return step(x), pinned{}; };
  wide const largest = sizeof(field) + 104 * sizeof(double);
  CHECK(probe<fake_clock>(step, start, 1000, 1.0, recorded{movable, reverse}, 4).state_bytes == largest);
  CHECK(probe<fake_clock>(step, start, 1000, 1.0, recorded{fixed, reverse}, 4).state_bytes == largest);
}

TEST_CASE("the largest of the adjoints counts, whichever it is", "[run][probe]") {
  step_index const largest = GENERATE(0, 2, 4);
  auto const of_size = [=](step_index i) { return field(i == largest ? 104 : 100); };
  auto const step = [=](field& x, step_index i) { forward(x), x = of_size(i + 1); };
  auto const reverse = [=](field const&, field& bar, step_index i) { back(bar), bar = of_size(i); };
  auto const work = probe<fake_clock>(step, of_size(0), 1000, [=](field const&) { return of_size(4); }, reverse, 4);
  CHECK(work.adjoint_bytes == sizeof(field) + 104 * sizeof(double));
}

TEST_CASE("a probe runs the first few steps only, and none of an empty loop", "[run][probe]") {
  step_index last = -1;
  auto const step = [&](field& x, step_index i) { last = i > last ? i : last, forward(x); };
  (void)probe<fake_clock>(step, start, 1000, seed, adjoint, 5);
  CHECK(last < 5);
  last = -1;
  auto const work = probe<fake_clock>(step, start, 0, seed, adjoint);
  CHECK(last == -1);
  CHECK(work.step_seconds == 0);
  CHECK(start == field(100, 1.0));
  CHECK_THROWS_AS(probe<fake_clock>(step, start, -1, seed, adjoint), invalid_plan);
  CHECK_THROWS_AS(probe<fake_clock>(step, start, 5, seed, adjoint, 0), invalid_plan);
}

TEST_CASE("times are medians, so one slow call does not matter", "[run][probe]") {
  auto const step = [](double& x, step_index i) { fake_clock::pass(i == 3 ? 5000 : 2), x *= 0.5; };
  auto const work =
      probe<fake_clock>(step, 1.0, 10, 1.0, [](double, double& bar, step_index) { fake_clock::pass(1), bar *= 0.5; });
  CHECK(work.step_seconds == Approx(0.002));
  CHECK(work.state_bytes == sizeof(double));
  // Of two times the mean, of four that of the two in the middle.
  for (step_index const tried : {2, 4})
    CHECK(probe<fake_clock>([](double& x, step_index i) { fake_clock::pass(2 * long(i + 1)), x *= 0.5; }, 1.0, 10, 1.0,
                            [](double, double& bar, step_index) { fake_clock::pass(1), bar *= 0.5; }, tried)
              .step_seconds == Approx(0.001 * double(tried + 1)));
}

namespace {

/// Counts instructions that steps and adjoints add themselves, moves by 1000 of them at once, and takes some to be
/// read.
template <long Tick, long Reading>
struct coarse_clock {
  using duration = std::chrono::duration<long, std::nano>;
  static inline long instructions = 0;
  static duration now() {
    instructions += Reading;
    return duration{instructions / Tick * Tick};
  }
};
constexpr long of_step = 3, of_adjoint = 11, of_record = 8;

/// Each state knows its number, so that a call on any other one is noticed.
struct numbered {
  long at = 0;
  field x = field(3);
};
struct watcher {
  long wrong = 0;
  step_index last = -1;
  void see(numbered const& x, step_index i) {
    wrong += x.at != i;
    last = last < i ? i : last;
  }
};

/// Probes all forms on a clock: use(workload, step form, adjoint form).
template <class Clock, class Use>
void probe_short_calls(Use use) {
  watcher seen;
  auto const move_on = [&](numbered& x, step_index i) {
    seen.see(x, i);
    Clock::instructions += of_step;
    ++x.at;
  };
  auto const pull = [&](double& bar) {
    seen.wrong += bar != 1;
    Clock::instructions += of_adjoint;
    bar = 1;
  };
  auto const with_step = [&](auto step) {
    auto const with = [&](auto reverse) { use(probe<Clock>(step, numbered{}, 1000, 1.0, reverse, 5)); };
    with([&](numbered const& x, double& bar, step_index i) { seen.see(x, i), pull(bar); });
    with([&](numbered const& x, double const& bar, step_index i) {
      double next = bar;
      seen.see(x, i), pull(next);
      return next;
    });
    with([&](numbered const& x, numbered const& x1, double& bar, step_index i) {
      seen.see(x, i), seen.see(x1, i + 1), pull(bar);
    });
    with([&](numbered const& x, double& bar, step_index i, step_index last) {
      seen.see(x, i), seen.wrong += last != i + 1, pull(bar);
    });
    with(recorded{[&](numbered& x, step_index i) {
                    move_on(x, i);
                    Clock::instructions += of_record - of_step;
                    return std::make_unique<step_index>(i);
                  },
                  [&](std::unique_ptr<step_index>& kept, double& bar, step_index i) {
                    seen.wrong += kept == nullptr || *kept != i;
                    kept.reset();
                    pull(bar);
                  }});
  };
  with_step(move_on);
  with_step([&](numbered const& x, step_index i) { numbered x1 = x; move_on(x1, i); return x1; });
  with_step([&](numbered const& x, numbered& x1, step_index i) { x1 = x, move_on(x1, i); });
  CHECK(seen.wrong == 0);
  CHECK(seen.last == 5);
}

}  // namespace

template <>
struct cairn::state_traits<std::unique_ptr<step_index>> {
  static std::size_t bytes(std::unique_ptr<step_index> const&) { return sizeof(void*) + sizeof(step_index); }
};

TEST_CASE("steps and adjoints far shorter than the clock's resolution have the right ratio", "[run][probe][long]") {
  constexpr double nano = 1e-9, share = 1.0 / 64;
  probe_short_calls<coarse_clock<1000, 0>>([&](workload const& work) {
    CHECK(std::abs(work.step_seconds - of_step * nano) <= share * of_step * nano);
    CHECK(std::abs(work.adjoint_seconds - of_adjoint * nano) <= share * of_adjoint * nano);
    if (work.form.adjoint == adjoint_form::recorded)
      CHECK(std::abs(*work.record_seconds - of_record * nano) <= share * of_record * nano);
  });
}

TEST_CASE("a clock that takes longer to be read than a step or an adjoint does not count itself", "[run][probe]") {
  probe_short_calls<coarse_clock<1, 40>>([&](workload const& work) {
    CHECK(work.step_seconds == Approx(of_step * 1e-9));
    CHECK(work.adjoint_seconds == Approx(of_adjoint * 1e-9));
    if (work.form.adjoint == adjoint_form::recorded) CHECK(*work.record_seconds == Approx(of_record * 1e-9));
  });
}

TEST_CASE("a short call is timed in five rounds of 1, 2, 4, ... calls, until they take 64 readings of the clock",
          "[run][probe]") {
  using clock = coarse_clock<1, 40>;
  long calls = 0;
  auto const step = [&](double& x) { ++calls, x *= 0.5, clock::instructions += of_step; };
  auto const reverse = [](double, double& bar) { bar *= 0.5, clock::instructions += of_adjoint; };
  (void)probe<clock>(step, 1.0, 1000, 1.0, reverse, 5);
  long const most = 1024;  // 512 calls take 1536, and 64 readings 2560
  CHECK(bool(wide(calls) == estimate(uniform{5}).step_calls + wide(5 * (1 + 5 * (2 * most - 1)))));
}

namespace {

/// A snapshot that is copied only, and counts itself.
struct copied_snapshot {
  static inline int alive = 0, peak = 0;
  step_index at;
  explicit copied_snapshot(step_index i) : at{i} { up(); }
  copied_snapshot(copied_snapshot const& from) : at{from.at} { up(); }
  copied_snapshot& operator=(copied_snapshot const&) = default;
  ~copied_snapshot() { --alive; }
  [[nodiscard]] std::size_t bytes() const { return sizeof *this; }

 private:
  static void up() { peak = ++alive > peak ? alive : peak; }
};
/// An object that counts its steps, with calls far shorter than a reading of the clock.
struct short_object {
  using clock = coarse_clock<1, 40>;
  step_index at = 0;
  long in_vain = 7;  // what it takes to restore the object if nothing has changed it
  short_object() = default;
  short_object(short_object const&) = delete;
  [[nodiscard]] copied_snapshot save() const {
    clock::instructions += 5;
    return copied_snapshot{at};
  }
  void restore(copied_snapshot const& from) {
    clock::instructions += at == from.at ? in_vain : 7;
    at = from.at;
  }
};

}  // namespace

TEST_CASE("calls of an object far shorter than a reading of the clock have their times, each from its own state",
          "[run][probe]") {
  using clock = short_object::clock;
  short_object x;
  long calls = 0, wrong = 0;
  auto const step = [&](short_object& s, step_index i) {
    ++calls, wrong += s.at != i;
    clock::instructions += of_step;
    s.at = i + 1;
  };
  auto const reverse = [&](short_object& s, double& bar, step_index i) {
    wrong += s.at != i || bar != 1;
    clock::instructions += of_adjoint;
    s.at = -1, bar = 2;
  };
  auto const check_times = [&](workload const& work) {
    CHECK(work.step_seconds == Approx(of_step * 1e-9));
    CHECK(work.adjoint_seconds == Approx(of_adjoint * 1e-9));
    CHECK(work.tiers.memory.write_seconds == Approx(5e-9));
    CHECK(work.tiers.memory.read_seconds == Approx(7e-9));
    CHECK((wrong == 0 && x.at == 0));
  };
  copied_snapshot::peak = copied_snapshot::alive;
  check_times(probe<clock>(step, x, 1000, 1.0, reverse, 3));
  // One where the loop begins and one after each of 3 steps, one to end with, and one in flight.
  CHECK(copied_snapshot::peak == 6);
  // Once on the way; then alone, and in five rounds of 2, 4, ... calls.
  CHECK(calls == 3 * (1 + 1 + 5 * (2 * 1024 - 2)));

  auto const recording = recorded{[&](short_object& s, step_index i) {
                                    step(s, i);
                                    clock::instructions += of_record - of_step;
                                    return i;
                                  },
                                  [&](step_index tape, double& bar, step_index i) {
                                    wrong += tape != i || bar != 1;
                                    clock::instructions += of_adjoint;
                                    bar = 2;
                                  }};
  auto const taped = probe<clock>(step, x, 1000, 1.0, recording, 3);
  check_times(taped);
  CHECK(taped.record_seconds == Approx(of_record * 1e-9));
}

TEST_CASE("calls that seem to take less than nothing take no time", "[run][probe]") {
  short_object x;
  x.in_vain = 9;
  auto const work = probe<short_object::clock>(
      [](short_object& s) { ++s.at; }, x, 1000, 1.0, [](short_object& s, double&) { ++s.at; }, 1);
  CHECK(work.step_seconds == 0);
  CHECK(work.adjoint_seconds == 0);
  CHECK(work.tiers.memory.read_seconds == Approx(9e-9));
}

TEST_CASE("what a recording step throws passes through a probe, though no state can be copied any more", "[run][probe]") {
  static bool full;
  full = false;
  class opaque {
   public:
    opaque() = default;
    opaque(opaque const& from) : held_{full ? throw 1 : from.held_} {}
    opaque& operator=(opaque const&) = default;

   private:
    std::map<int, double> held_;
  };
  struct mine {};
  auto const recording = recorded{[](opaque&, step_index) -> double {
                                    full = true;
                                    throw mine{};
                                  },
                                  [](double, double&) {}};
  CHECK_THROWS_AS(probe<fake_clock>([](opaque&, step_index) {}, opaque{}, 10, 1.0, recording, 2,
                                    [] { return heap::held; }), mine);
}

TEST_CASE("types whose bytes cannot be counted are measured by what the program holds", "[run][probe]") {
  using table = std::map<int, double>;
  struct bar_list {
    std::list<double> all;
  };
  table x0;
  for (int k = 0; k < 100; ++k) x0[k] = k;
  heap::mark const mark;
  auto const copy = std::make_unique<table const>(x0);
  std::size_t const state = mark.rise();
  auto const held = [] { return heap::held; };
  auto const step = [](table& x, step_index) { fake_clock::pass(7), x[0] *= 0.5; };
  auto const weighed_seed = [](table const&) { return bar_list{std::list<double>(9)}; };
  auto const weighed = probe<fake_clock>(
      step, x0, 1000, weighed_seed, [](table const&, bar_list&, step_index) { fake_clock::pass(11); }, 4, held);
  CHECK(weighed.state_bytes == state);
  CHECK(weighed.initial_bytes == wide{state});
  heap::mark const of_bar;
  std::unique_ptr<bar_list const> const bar{new bar_list{std::list<double>(9)}};
  CHECK(weighed.adjoint_bytes == of_bar.rise());
  CHECK(weighed.step_seconds == Approx(0.007));
  auto const growing = recorded{[](table& x, step_index i) {
                                  fake_clock::pass(7), x[int(100 + i)] = 1;
                                  return std::list<double>(13);
                                },
                                [](std::list<double> const&, double&) { fake_clock::pass(11); }};
  auto const taped = probe<fake_clock>([](table& x, step_index i) { fake_clock::pass(7), x[int(100 + i)] = 1; }, x0,
                                       1000, 1.0, growing, 4, held);
  heap::mark const of_tape;
  std::list<double> const tape(13);
  CHECK(taped.tape_bytes == sizeof(std::optional<std::list<double>>) + of_tape.rise());
  CHECK(taped.state_bytes == state + 4 * (state - sizeof(table)) / 100);
  auto const shrinks = [](table& x, step_index i) { fake_clock::pass(7), x.erase(int(i)); };
  auto const shrinking = recorded{[&](table& x, step_index i) { return shrinks(x, i), std::list<double>(13); },
                                  [](std::list<double> const&, double&) { fake_clock::pass(11); }};
  CHECK(probe<fake_clock>(shrinks, x0, 1000, 1.0, shrinking, 4, held).tape_bytes == taped.tape_bytes);

  for (char const* const budget : {"150kB", "300kB", "5MB"}) {
    auto const plan = plan_within(budget, weighed);
    heap::mark const sweep;
    (void)gradient(step, x0, plan.schedule, weighed_seed, [](table const&, bar_list&, step_index) {});
    CHECK(sweep.rise() + state + sizeof(bar_list) <= byte_size{budget}.count());
  }
}

TEST_CASE("a real clock serves a probe", "[run][probe]") {
  auto const work = probe<std::chrono::steady_clock>(in_place_step, start, 10, seed, adjoint);
  CHECK(work.step_seconds >= 0);
  CHECK(work.step_seconds < 10);
}

namespace {

/// An object whose adjoint moves it, with a snapshot of 100 numbers.
struct solver {
  field u = start, bar;
  solver() = default;
  solver(solver const&) = delete;
  [[nodiscard]] field save() const {
    fake_clock::pass(3);
    return u;
  }
  void save(field& into) const {
    fake_clock::pass(2);
    into = u;
  }
  void restore(field const& snapshot) {
    fake_clock::pass(5);
    u = snapshot;
  }
};
auto const object_step = [](solver& x, step_index) { forward(x.u); };
auto const moving_adjoint = [](solver& x, field& bar) {
  back(bar);
  x.u.assign(100, 0);
};

}  // namespace

TEST_CASE("a probe runs an object itself, puts it back and weighs its snapshots", "[run][probe]") {
  solver x;
  x.u[7] = 9;
  auto const before = x.u;
  auto const work = probe<fake_clock>(object_step, x, 1000, [](solver const& s) { return s.u; }, moving_adjoint);
  CHECK(x.u == before);
  CHECK(work.steps == 1000);
  CHECK(work.state_bytes == field_bytes);
  CHECK(work.state_inline_bytes == sizeof(field));
  CHECK(work.initial_bytes == wide{0});
  CHECK(work.adjoint_bytes == field_bytes);
  CHECK(work.step_seconds == Approx(0.007));
  CHECK(work.adjoint_seconds == Approx(0.011));
  CHECK(work.tiers.memory.write_seconds == Approx(0.002));
  CHECK(work.tiers.memory.read_seconds == Approx(0.005));
  CHECK(work.form.snapshots);
  CHECK(work.form.step == step_form::in_place);
  CHECK(work.form.adjoint == adjoint_form::one_step);

  auto const recording = recorded{[](solver& s, step_index) {
                                    field kept = s.u;
                                    fake_clock::pass(6);
                                    forward(s.u);
                                    return kept;
                                  },
                                  [](field const&, field& bar) { back(bar); },
                                  [](field const& kept) -> field const& { return kept; }};
  auto const taped = probe<fake_clock>(object_step, x, 1000, [](solver const& s) { return s.u; }, recording);
  CHECK(taped.record_seconds == Approx(0.013));
  CHECK(taped.adjoint_seconds == Approx(0.011));
  CHECK(taped.step_seconds == Approx(0.007));
  CHECK(taped.tape_bytes == field_bytes + sizeof(std::optional<field>) - sizeof(field));
  CHECK(taped.tapes_restart);
  CHECK(x.u == before);
}

TEST_CASE("tapes of an object whose bytes cannot be counted are measured, the largest counts", "[run][probe]") {
  solver x;
  step_index const largest = GENERATE(0, 2, 3);
  auto const recording = recorded{[&](solver& s, step_index i) {
                                    forward(s.u);
                                    return std::list<double>(i == largest ? 13 : 5);
                                  },
                                  [](std::list<double> const&, field& bar) { back(bar); }};
  auto const held = [] { return heap::held; };
  auto const work =
      probe<fake_clock>(object_step, x, 1000, [](solver const& s) { return s.u; }, recording, 4, held);
  heap::mark const of_tape;
  std::list<double> const tape(13);
  CHECK(work.tape_bytes == sizeof(std::optional<std::list<double>>) + of_tape.rise());
}

TEST_CASE("a probe of an object whose bar is the library's counts no bytes for it", "[run][probe]") {
  solver x;
  auto const library_adjoint = [](solver& s) {
    back(s.bar);
    s.u.assign(100, 0);
  };
  auto const library_seed = [](solver& s) { s.bar = s.u; };
  auto const work = probe<fake_clock>(object_step, x, 1000, library_seed, library_adjoint);
  CHECK(work.adjoint_bytes == 0);
  CHECK(work.adjoint_seconds == Approx(0.011));
  CHECK(work.step_seconds == Approx(0.007));
  CHECK(x.u == start);
  auto const throws = [](solver& s) {
    s.u.assign(100, 0);
    throw 1;
  };
  CHECK_THROWS_AS(probe<fake_clock>(throws, x, 1000, library_seed, library_adjoint), int);
  CHECK(x.u == start);
}

namespace {

/// A bar that no constructor copies.
struct grid_bar {
  field numbers;
  grid_bar() = default;
  explicit grid_bar(field made) : numbers{std::move(made)} {}
  grid_bar(grid_bar&&) = default;
  grid_bar& operator=(grid_bar&&) = default;
};

}  // namespace

template <>
struct cairn::state_traits<grid_bar> {
  static void copy(grid_bar const& from, grid_bar& into) { into.numbers = from.numbers; }
  static std::size_t bytes(grid_bar const& x) { return sizeof(grid_bar) + x.numbers.size() * sizeof(double); }
};

TEST_CASE("a bar that only its traits copy is probed, of a value and of an object", "[run][probe]") {
  auto const value_seed = [](field const& x) { return grid_bar{x}; };
  auto const value_adjoint = [](field const&, grid_bar& bar, step_index) { back(bar.numbers); };
  auto const of_value = probe<fake_clock>(in_place_step, start, 1000, value_seed, value_adjoint);
  CHECK(of_value.adjoint_bytes == sizeof(grid_bar) + 100 * sizeof(double));
  CHECK(of_value.adjoint_seconds == Approx(0.011));

  solver x;
  int others = 0;
  auto const object_seed = [](solver const& final_state) { return grid_bar{final_state.u}; };
  auto const object_adjoint = [&](solver&, grid_bar& bar) {
    others += bar.numbers != field(100, 1.0 / 16);  // of the state after 4 steps, whatever ran before
    back(bar.numbers);
  };
  auto const of_object = probe<fake_clock>(object_step, x, 1000, object_seed, object_adjoint, 4);
  CHECK(of_object.adjoint_bytes == of_value.adjoint_bytes);
  CHECK(of_object.adjoint_seconds == Approx(0.011));
  CHECK(of_object.step_seconds == Approx(0.007));
  CHECK(others == 0);
  CHECK(x.u == start);

  auto const recording = recorded{[](solver& at, step_index) {
                                    forward(at.u);
                                    return at.u;
                                  },
                                  [](field const&, grid_bar& bar) { back(bar.numbers); }};
  CHECK(probe<fake_clock>(object_step, x, 1000, object_seed, recording, 4).adjoint_seconds == Approx(0.011));
}

TEST_CASE("a real clock distinguishes short calls of an object from its restores", "[run][probe]") {
  solver x;
  auto const count = [](long& calls) { return [&calls](solver& s, step_index) { ++calls, s.u[0] *= 0.5; }; };
  long calls = 0;
  auto const step = count(calls);
  auto const work = probe<std::chrono::steady_clock>(
      step, x, 1000, [](solver const& s) { return s.u; }, [](solver const&, field& bar) { bar[0] *= 0.5; });
  CHECK(calls > 16);
  CHECK(work.step_seconds < work.tiers.memory.read_seconds + 1e-6);
  CHECK(plan_within("100KiB", work).cost.peak_bytes <= 100 * 1024);
}
