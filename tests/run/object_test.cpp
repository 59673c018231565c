// SPDX-License-Identifier: Apache-2.0
// Objects that stay where they are can do what values can: every form of adjoint, bar in the library, plans, tiers,
// runs that are kept, loops in loops, records, hooks and observers. Each against storing everything.
#include <cairn/cairn.hpp>
#include <cairn/run/resume.hpp>
#include <cairn/run/with/adaptive.hpp>
#include <cairn/run/with/each_bar.hpp>
#include <cairn/schedule/hrevolve.hpp>
#include <cairn/schedule/mixed.hpp>
#include <cmath>
#include <cstring>
#include <limits>
#include <vector>
#include "support/catch.hpp"
#include "support/pendulum.hpp"
#include "support/tiered_store.hpp"

namespace {

using cairn::step_index;
using pendulum::numbers;
constexpr double nowhere = std::numeric_limits<double>::quiet_NaN();

/// A solver of a library behind a handle: const does not reach what it holds, and the adjoint lives beside the state.
class solver {
 public:
  solver() = default;
  solver(solver const&) = delete;
  solver& operator=(solver const&) = delete;
  [[nodiscard]] pendulum::state save() const { return pendulum::state{v}; }
  void save(pendulum::state& into) const {
    ++saved_again;
    into.v = v;
  }
  void restore(pendulum::state const& snapshot) { v = snapshot.v; }

  numbers v = pendulum::start().v;
  numbers bar;
  static inline long saved_again = 0;
};

void advance(solver& x, step_index i) { ++pendulum::step_calls, pendulum::swing(x.v, x.v, i); }
auto const step = [](solver& x, step_index i) { advance(x, i); };
auto const seed = [](solver const& x) { return x.v; };
void spoil(solver& x) { x.v.assign(2, nowhere); }

// Every form in which an adjoint of an object may be written.
auto const reads = [](solver const& x, numbers& bar, step_index) { pendulum::swing_back(x.v, bar); };
auto const moves = [](solver& x, numbers& bar) {
  pendulum::swing_back(x.v, bar);
  spoil(x);
};
auto const moves_by_value = [](solver& x, numbers const& bar, step_index) {
  numbers out = bar;
  pendulum::swing_back(x.v, out);
  spoil(x);
  return out;
};
void reverse_leaf(solver& x, numbers& bar, step_index first, step_index last) {
  std::vector<numbers> all{x.v};
  for (auto i = first; i + 1 < last; ++i) {  // as a library does it: on the object itself
    pendulum::swing(x.v, x.v, i);
    all.push_back(x.v);
  }
  for (auto i = last; i-- > first;) pendulum::swing_back(all[std::size_t(i - first)], bar);
  spoil(x);
}
auto const moves_in_leaf = [](solver& x, numbers& bar, step_index first, step_index last) {
  reverse_leaf(x, bar, first, last);
};
auto const recording = [](solver& x, step_index i) {
  numbers tape = x.v;
  advance(x, i);
  return tape;
};
auto recorded() {
  return cairn::recorded{recording, [](numbers const& tape, numbers& bar) { pendulum::swing_back(tape, bar); }};
}

// The same without bar: it is a member of the object.
auto const library_seed = [](solver& x) { x.bar = x.v; };
auto const in_library = [](solver& x, step_index) {
  pendulum::swing_back(x.v, x.bar);
  spoil(x);
};
auto const in_library_unindexed = [](solver& x) { pendulum::swing_back(x.v, x.bar); };
auto const leaf_in_library = [](solver& x, step_index first, step_index last) { reverse_leaf(x, x.bar, first, last); };
auto recorded_in_library(solver& x) {
  return cairn::recorded{recording, [&x](numbers const& tape, step_index) { pendulum::swing_back(tape, x.bar); }};
}

template <class Plan>
void check_gradients(Plan const& plan) {
  CAPTURE(plan.steps(), plan.slots());
  pendulum::stored const all{plan.steps()};
  auto const gives = [&](auto adjoint) {
    solver x;
    CHECK(cairn::gradient(step, x, plan, seed, adjoint) == all.gradient);
  };
  gives(reads);
  solver of_report;
  cairn::sweep_report report;
  CHECK(cairn::gradient(step, of_report, plan, seed, moves, report) == all.gradient);
  CHECK(report.predicted_bytes >= report.state_bytes);
  CHECK((report.state_bytes > 0 || plan.steps() == 0));
  gives(moves_by_value);
  gives(moves_in_leaf);
  auto const recorded_in = [&](auto ends) {
    pendulum::state::peak = int(pendulum::state::alive);
    int const outside = pendulum::state::alive;
    solver x;
    numbers const start = x.v;
    CHECK(cairn::gradient(step, x, plan, seed, recorded(), ends) == all.gradient);
    CHECK(x.v == start);
    cairn::sweep_form const form{.adjoint = cairn::adjoint_form::recorded, .snapshots = true, .ends = ends};
    CHECK(pendulum::state::peak - outside == int(cairn::estimate(plan, {.form = form}).peak_states));
  };
  recorded_in(cairn::object_ends::at_initial);
  auto const leaves = [&](auto adjoint) {
    solver x;
    CHECK(cairn::gradient(step, x, plan, library_seed, adjoint) == cairn::library_bar{});
    CHECK(x.bar == all.gradient);
  };
  leaves(in_library);
  leaves(in_library_unindexed);
  leaves(leaf_in_library);
  solver x;
  (void)cairn::gradient(step, x, plan, library_seed, recorded_in_library(x));
  CHECK(x.bar == all.gradient);
}

}  // namespace

TEST_CASE("adjoints that move the object, record its steps or keep bar in it give the bits of storing everything") {
  for (step_index const n : {0, 1, 2, 3, 60}) {
    for (step_index const slots : {1, 4}) {
      check_gradients(cairn::revolve{n, slots});
      check_gradients(cairn::revolve{n, slots, {.free_initial = true}});
    }
    check_gradients(cairn::uniform{n});
    check_gradients(cairn::store_all(n));
    check_gradients(cairn::any_schedule{cairn::revolve{n, 3}});
  }
}

TEST_CASE("a plan of leaves reverses an object by leaves, with bar in the library or not") {
  for (step_index const length : {1, 2, 7, 40}) {
    cairn::leaves const plan{40, length, cairn::revolve{(40 + length - 1) / length, 2}};
    pendulum::stored const all{40};
    CAPTURE(length);
    solver x, y;
    CHECK(cairn::gradient(step, x, plan, seed, moves_in_leaf) == all.gradient);
    (void)cairn::gradient(step, y, plan, library_seed, leaf_in_library);
    CHECK(y.bar == all.gradient);
    solver z;
    long const calls = pendulum::step_calls;
    if (length > 1) {
      CHECK_THROWS_AS(cairn::gradient(step, z, plan, seed, moves), cairn::invalid_plan);
      CHECK(pendulum::step_calls == calls);
    }
  }
}

TEST_CASE("tapes of an object's steps are kept, and restarted from by a snapshot in the tape") {
  struct tape {
    numbers before;
    pendulum::state after;
  };
  step_index const n = 24;
  pendulum::stored const all{n};
  for (int const units : {6, 12, 40}) {
    cairn::mixed const plan{n, units, {.tape_units = 2, .tapes_restart = true}};
    CAPTURE(units);
    solver x;
    auto const adjoint = cairn::recorded{[](solver& s, step_index i) {
                                           numbers before = s.v;
                                           advance(s, i);
                                           return tape{before, s.save()};
                                         },
                                         [](tape const& kept, numbers& bar) { pendulum::swing_back(kept.before, bar); },
                                         [](tape const& kept) -> pendulum::state const& { return kept.after; }};
    pendulum::step_calls = 0;
    CHECK(cairn::gradient(step, x, plan, seed, adjoint) == all.gradient);
    CHECK(cairn::wide(pendulum::step_calls) ==
          cairn::estimate(plan, {.form = {.adjoint = cairn::adjoint_form::recorded}}).step_calls);
  }
}

TEST_CASE("snapshots lie on the tiers of the plan") {
  step_index const n = 40;
  pendulum::stored const all{n};
  cairn::hrevolve const plan{n, {{2, 0, 0}, {4, 1, 1}}};
  for (auto const memory : {toys::in_memory::as_frames, toys::in_memory::as_bytes}) {
    toys::tiered store{plan, memory};
    solver x;
    CHECK(cairn::gradient(step, x, plan, seed, moves, store) == all.gradient);
    solver y;
    auto run = cairn::checkpointed_loop(step, y, plan, store);
    CHECK(run.reverse(seed, moves) == all.gradient);
    CHECK(run.reverse(seed, reads) == all.gradient);
  }
}

namespace {

/// Everything that can be asked of a run over an object.
void check_run(auto& run, pendulum::stored const& all) {
  step_index const n = run.steps();
  auto const walk = [&] {
    step_index next = n;
    for (auto [i, x] : run.backward()) {
      CHECK(i == next--);
      CHECK(x.v == all.states[std::size_t(i)]);
    }
    CHECK(next == -1);
  };
  auto const counts = [&, first = run.step_calls() - cairn::wide(pendulum::step_calls)] {
    CHECK(run.step_calls() - cairn::wide(pendulum::step_calls) == first);
  };
  for (step_index const i : {n, step_index{0}, n / 2}) CHECK(run.at(i).v == all.states[std::size_t(i)]);
  counts();
  CHECK(run.final_state().v == all.states.back());
  for (auto const& [i, kept] : run.checkpoints()) CHECK(kept.v == all.states[std::size_t(i)]);
  CHECK(run.reverse(seed, moves) == all.gradient);
  if (n > 0) CHECK_THROWS_AS(run.final_state(), cairn::invalid_call);
  walk();
  counts();
  CHECK(run.reverse(seed, recorded()) == all.gradient);
  counts();
  CHECK(run.at(n / 2).v == all.states[std::size_t(n / 2)]);
  CHECK(run.reverse(library_seed, in_library) == cairn::library_bar{});
  walk();
  CHECK(run.reverse(all.states.back(), reads) == all.gradient);
  CHECK_THROWS_AS(run.at(n + 1), cairn::invalid_call);
}

}  // namespace

TEST_CASE("a run over an object is reversed again and again, walked backwards and asked for states") {
  for (step_index const n : {0, 1, 2, 9, 50}) {
    pendulum::stored const all{n};
    auto const on = [&](auto const& plan) {
      CAPTURE(n, plan.slots());
      int const outside = pendulum::state::alive;
      {
        solver x;
        pendulum::state::peak = int(pendulum::state::alive);
        {
          auto run = cairn::checkpointed_loop(step, x, plan);
          for (int again = 0; again < 3; ++again) CHECK(run.reverse(seed, reads) == all.gradient);
        }
        auto const form = cairn::sweep_form{.keeps_run = true, .snapshots = true};
        CHECK(pendulum::state::peak - outside <= plan.slots() + 2);
        CHECK(cairn::wide(pendulum::state::peak - outside) ==
              cairn::wide(cairn::estimate(plan, {.form = form}).peak_states));
      }
      solver x;
      pendulum::step_calls = 0;
      auto run = cairn::checkpointed_loop(step, x, plan);
      CHECK(run.step_calls() == cairn::wide(pendulum::step_calls));
      check_run(run, all);
      CHECK(x.bar == all.gradient);
    };
    on(cairn::revolve{n, 3});
    on(cairn::revolve{n, 3, {.free_initial = true}});
    on(cairn::uniform{n});
    on(cairn::store_all(n));
    for (cairn::slot_index const slots : {1, 3}) {
      solver x;
      step_index left = n;
      auto run = cairn::checkpointed_while(step, x, [&](solver const&) { return left-- > 0; }, cairn::online{slots});
      check_run(run, all);
      CHECK(x.bar == all.gradient);
    }
  }
}

TEST_CASE("what an object's run still holds is not run again") {
  step_index const n = 100;
  pendulum::stored const all{n};
  solver x;
  auto run = cairn::checkpointed_loop(step, x, cairn::store_all(n));
  CHECK(run.reverse(seed, moves) == all.gradient);
  auto const calls = run.step_calls();
  CHECK(run.reverse(seed, moves) == all.gradient);
  CHECK(run.step_calls() - calls == 1);  // the turn alone
}

TEST_CASE("a run whose reverse was stopped by an exception can be reversed all the same") {
  pendulum::stored const all{30};
  for (int const stop : {0, 7, 29}) {
    solver x;
    auto run = cairn::checkpointed_loop(step, x, cairn::revolve{30, 3});
    int left = stop;
    auto const throws = [&](solver& s, numbers& bar) {
      spoil(s);
      if (left-- == 0) throw 1;
      (void)bar;
    };
    CHECK_THROWS_AS(run.reverse(seed, throws), int);
    CHECK(run.reverse(seed, moves) == all.gradient);
  }
}

TEST_CASE("a loop in a loop runs on the object itself") {
  pendulum::stored const all{60};
  auto const check = [&](auto inner_plan, step_index outer) {
    auto const gives = [&](auto adjoint) {
      cairn::nested loop{inner_plan, step, adjoint};
      solver x;
      CHECK(cairn::gradient(loop.step, x, cairn::revolve{outer, 2}, seed, loop.adjoint) == all.gradient);
    };
    gives(reads);
    gives(moves);
    cairn::nested loop{inner_plan, step, in_library};
    solver x;
    (void)cairn::gradient(loop.step, x, cairn::revolve{outer, 2}, library_seed, loop.adjoint);
    CHECK(x.bar == all.gradient);
  };
  check(cairn::revolve{6, 2}, 10);
  check(cairn::store_all(1), 60);
  step_index squares = 0;
  solver taped;
  auto const from_tape = [&](numbers const& tape, step_index i) {
    pendulum::swing_back(tape, taped.bar);
    squares += i * i;
  };
  cairn::nested records{cairn::revolve{6, 2}, step, cairn::recorded{recording, from_tape}};
  (void)cairn::gradient(records.step, taped, cairn::revolve{10, 2}, library_seed, records.adjoint);
  CHECK(taped.bar == all.gradient);
  CHECK(squares == 59 * 60 * 119 / 6);
  cairn::nested innermost{cairn::revolve{3, 2}, step, moves};
  cairn::nested middle{cairn::uniform{4}, innermost.step, innermost.adjoint};
  solver x;
  CHECK(cairn::gradient(middle.step, x, cairn::revolve{5, 2}, seed, middle.adjoint) == all.gradient);
}

TEST_CASE("a nested loop over an object compares where it ends with the outer sweep") {
  pendulum::stored const all{60};
  cairn::sweep_options const verify{.verify = cairn::replay_check::every_step};
  double hidden = 0;
  auto const drifts = [&](solver& x, step_index i) { advance(x, i), x.v[0] += hidden; };
  cairn::nested good{cairn::revolve{6, 2}, step, moves, verify};
  cairn::nested bad{cairn::revolve{6, 2}, drifts, moves, verify};
  solver x, y;
  CHECK(cairn::gradient(good.step, x, cairn::revolve{10, 2}, seed, good.adjoint, verify) == all.gradient);
  auto const drifting_seed = [&](solver const& s) {
    hidden = 1e-9;
    return s.v;
  };
  CHECK_THROWS_AS(cairn::gradient(bad.step, y, cairn::revolve{10, 10}, drifting_seed, bad.adjoint, verify),
                  cairn::nondeterminism_error);
}

namespace {

/// A snapshot that holds the library's adjoint as well: to restore it puts an old adjoint back.
class holding {
 public:
  holding() = default;
  holding(holding const&) = delete;
  [[nodiscard]] std::vector<double> save() const {
    auto all = v;
    all.insert(all.end(), bar.begin(), bar.end());
    return all;
  }
  void restore(std::vector<double> const& all) {
    v.assign(all.begin(), all.begin() + 2);
    bar.assign(all.begin() + 2, all.end());
  }
  numbers v = pendulum::start().v, bar{0, 0};
};

}  // namespace

TEST_CASE(
    "a replay check finds the library's adjoint in a snapshot, by the seed or by an adjoint that only reads the "
    "object") {
  using Catch::Matchers::ContainsSubstring;
  auto const swing = [](holding& x, step_index i) { pendulum::swing(x.v, x.v, i); };
  auto const moves_it = [](holding& x, step_index) {
    pendulum::swing_back(x.v, x.bar);
    x.v.assign(2, nowhere);
  };
  auto const reads_it = [](holding const& x, step_index) { pendulum::swing_back(x.v, const_cast<numbers&>(x.bar)); };
  auto const begins = [](holding& x) { x.bar = x.v; };
  pendulum::stored const all{40};
  for (auto const mode : {cairn::replay_check::checkpoints, cairn::replay_check::every_step}) {
    cairn::sweep_options const verify{.verify = mode};
    auto const refuses = [&](auto const& back, auto const& from, char const* state) {
      holding x;
      x.bar = {1, 0};
      CHECK_THROWS_WITH((void)cairn::gradient(swing, x, cairn::revolve{40, 3}, from, back, verify),
                        ContainsSubstring("has changed what its save() gives") && ContainsSubstring(state));
    };
    refuses(moves_it, begins, "40");
    refuses(reads_it, begins, "40");
    refuses(reads_it, cairn::library_bar{}, "39");
    holding y;
    auto run = cairn::checkpointed_loop(swing, y, cairn::revolve{40, 3}, verify);
    CHECK_THROWS_AS(run.reverse(begins, moves_it), cairn::nondeterminism_error);

    for (int form = 0; form < 3; ++form) {  // and nothing where it is elsewhere
      solver x;
      cairn::revolve const plan{40, 3};
      if (form == 0) (void)cairn::gradient(step, x, plan, library_seed, in_library, verify);
      if (form == 1)
        (void)cairn::gradient(
            step, x, plan, library_seed,
            [](solver const& s, step_index) { pendulum::swing_back(s.v, const_cast<numbers&>(s.bar)); }, verify);
      if (form == 2) (void)cairn::gradient(step, x, plan, library_seed, recorded_in_library(x), verify);
      CHECK(x.bar == all.gradient);
    }
  }
  holding silent;
  (void)cairn::gradient(swing, silent, cairn::revolve{40, 3}, begins, moves_it);
  CHECK(silent.bar != all.gradient);  // what would come without a word
}

TEST_CASE("a replay check looks at an object through adjoints that move it") {
  pendulum::stored const all{40};
  for (auto const mode : {cairn::replay_check::checkpoints, cairn::replay_check::every_step}) {
    cairn::sweep_options const verify{.verify = mode};
    solver x, y, z;
    CHECK(cairn::gradient(step, x, cairn::revolve{40, 3}, seed, moves, verify) == all.gradient);
    CHECK(cairn::gradient(step, y, cairn::revolve{40, 3}, seed, recorded(), verify) == all.gradient);
    auto run = cairn::checkpointed_loop(step, z, cairn::revolve{40, 3}, verify);
    for (int again = 0; again < 2; ++again) CHECK(run.reverse(seed, moves) == all.gradient);
    CHECK(run.at(17).v == all.states[17]);
    double hidden = 0;
    auto const drifts = [&](solver& s, step_index i) { advance(s, i), s.v[0] += hidden, hidden += 1e-9; };
    solver w;
    CHECK_THROWS_AS(cairn::gradient(drifts, w, cairn::revolve{40, 3}, seed, moves, verify),
                    cairn::nondeterminism_error);
  }
}

TEST_CASE("an object's step that chooses its size is repeated, and its adjoint gets the record") {
  step_index const n = 40;
  pendulum::stored const all{n};
  long chosen = 0;
  cairn::adaptive loop{[&](solver& x, step_index i) {
                         ++chosen;
                         advance(x, i);
                         return long(i);
                       },
                       [](solver& x, step_index, long i) { advance(x, i); }};
  solver x;
  auto const adjoint = loop.with_record([](solver& s, numbers& bar, step_index i, long record) {
    if (i != record) bar[0] = nowhere;
    pendulum::swing_back(s.v, bar);
    spoil(s);
  });
  CHECK(cairn::gradient(loop.step(), x, cairn::revolve{n, 3}, seed, adjoint) == all.gradient);
  CHECK(chosen == n);
  solver y;
  auto run = cairn::checkpointed_while(
      loop.step(), y, [&](solver const&, step_index i) { return i < n; }, cairn::online{3});
  (void)run.reverse(library_seed, loop.with_record([](solver& s, step_index i, long record) {
    if (i != record) spoil(s);
    pendulum::swing_back(s.v, s.bar);
    spoil(s);
  }));
  CHECK(y.bar == all.gradient);
  CHECK(chosen == 2 * n);
}

TEST_CASE("a hook sees state i of an object that its adjoint has moved, and the bar of the library") {
  step_index const n = 30;
  pendulum::stored const all{n};
  numbers want = all.states.back();
  for (auto i = n; i-- > 0;) {
    pendulum::swing_back(all.states[std::size_t(i)], want);
    want[0] += all.states[std::size_t(i)][1];
  }
  bool right = true;
  auto const objective = [&](solver const& x, numbers& bar, step_index i) {
    right = right && x.v == all.states[std::size_t(i)];
    bar[0] += x.v[1];
  };
  auto const library_objective = [&](solver& x, step_index i) { objective(x, x.bar, i); };
  cairn::revolve const plan{n, 3};
  solver x, y, z;
  CHECK(cairn::gradient(step, x, plan, seed, cairn::hooked(moves, objective)) == want);
  CHECK(cairn::gradient(step, y, plan, seed, cairn::hooked(reads, objective)) == want);
  (void)cairn::gradient(step, z, plan, library_seed, cairn::hooked(in_library, library_objective));
  CHECK(z.bar == want);
  auto const at_leaves = [&](solver const& s, numbers& bar, step_index first, step_index last) {
    right = right && last == first + 5;
    objective(s, bar, first);
  };
  auto const library_at_leaves = [&](solver& s, step_index first, step_index last) {
    at_leaves(s, s.bar, first, last);
  };
  numbers by_leaves = all.states.back();
  for (auto i = n; i-- > 0;) {
    pendulum::swing_back(all.states[std::size_t(i)], by_leaves);
    if (i % 5 == 0) by_leaves[0] += all.states[std::size_t(i)][1];
  }
  cairn::leaves const five{n, 5, cairn::revolve{6, 2}};
  solver u, v;
  CHECK(cairn::gradient(step, u, five, seed, cairn::hooked(moves_in_leaf, at_leaves)) == by_leaves);
  (void)cairn::gradient(step, v, five, library_seed, cairn::hooked(leaf_in_library, library_at_leaves));
  CHECK(v.bar == by_leaves);
  solver taped;  // after a tape a hook of the library gets the index
  step_index sum = 0;
  (void)cairn::gradient(step, taped, plan, library_seed,
                        cairn::hooked(recorded_in_library(taped), [&](step_index i) { sum += i; }));
  CHECK(taped.bar == all.gradient);
  CHECK(sum == n * (n - 1) / 2);
  cairn::nested inner{cairn::revolve{5, 2}, step, cairn::hooked(moves, objective)};
  solver w;
  CHECK(cairn::gradient(inner.step, w, cairn::revolve{6, 2}, seed, inner.adjoint) == want);
  CHECK(right);
}

TEST_CASE("several bars go back through one object, which is put back for each") {
  step_index const n = 30;
  pendulum::stored const all{n};
  auto const seeds = [](solver const& x) { return std::vector<numbers>{x.v, {1.0, 0.0}}; };
  numbers second{1.0, 0.0};
  for (auto i = n; i-- > 0;) pendulum::swing_back(all.states[std::size_t(i)], second);
  std::vector<numbers> const want{all.gradient, second};
  cairn::revolve const plan{n, 3};
  cairn::leaves const by_leaves{n, 5, cairn::revolve{6, 2}};
  solver x, y, z, w;
  CHECK(cairn::gradient(step, x, plan, seeds, cairn::each_bar(reads)) == want);
  CHECK(cairn::gradient(step, y, plan, seeds, cairn::each_bar(moves)) == want);
  CHECK(cairn::gradient(step, z, plan, seeds, cairn::each_bar(recorded())) == want);
  CHECK(cairn::gradient(step, w, by_leaves, seeds, cairn::each_bar(moves_in_leaf)) == want);
}

TEST_CASE("an observer sees the state of an object before its adjoint moves it, by its snapshot, and none after") {
  step_index const n = 20;
  pendulum::stored const all{n};
  auto const check = [&](auto adjoint, bool seen_after) {
    solver x;
    long before = 0, after = 0;
    bool right = true;
    auto const watch = [&](cairn::event const& e) {
      if (e.what().kind == cairn::action_kind::reverse) {
        bool const shown = e.each_buffer([&](void const* bytes, std::size_t size) {
          auto const& expected = all.states[std::size_t(e.what().from)];
          right = right && size == 2 * sizeof(double) && std::memcmp(bytes, expected.data(), size) == 0;
        });
        (e.moment() == cairn::moment::before ? before : after) += shown;
      }
      if (e.what().kind == cairn::action_kind::turn && e.moment() == cairn::moment::after)
        CHECK(e.each_buffer([&](void const* bytes, std::size_t size) {
          right = right && std::memcmp(bytes, all.states.back().data(), size) == 0;
        }));
    };
    CHECK(cairn::gradient(step, x, cairn::revolve{n, 3}, seed, adjoint, watch) == all.gradient);
    CHECK(right);
    CHECK(before == n);
    CHECK(after == (seen_after ? n : 0));
  };
  check(moves, false);
  check(reads, true);
}

TEST_CASE("a stopped sweep whose bar is the library's goes on from what the library holds") {
  cairn::revolve const plan{30, 3};
  pendulum::stored const all{30};
  solver x;
  auto work = cairn::workspace_for<solver>(plan);
  step_index open = 30;
  numbers noted;
  auto const noting = cairn::hooked(in_library, [&](solver const& s, step_index i) {
    open = i;
    noted = s.bar;
    if (i == 11) throw 1;
  });
  CHECK_THROWS_AS(cairn::gradient(step, x, plan, library_seed, noting, work), int);
  x.v = pendulum::start().v;
  x.bar = noted;
  CHECK(cairn::resume(step, x, plan, cairn::resume_point{open, cairn::library_bar{}}, in_library, work) ==
        cairn::library_bar{});
  CHECK(x.bar == all.gradient);
}

TEST_CASE("a seed that the library has already needs no function") {
  pendulum::stored const all{30};
  solver x;
  x.bar = all.states.back();
  (void)cairn::gradient(step, x, cairn::revolve{30, 3}, cairn::library_bar{}, in_library);
  CHECK(x.bar == all.gradient);
}

TEST_CASE("snapshots are saved into old ones, also those that change their size") {
  struct growing {
    numbers v{1.0};
    growing() = default;
    growing(growing const&) = delete;
    [[nodiscard]] numbers save() const { return v; }
    void save(numbers& into) const { into = v; }
    void restore(numbers const& snapshot) { v = snapshot; }
  };
  auto const resize = [](growing& x, step_index i) {
    x.v.resize(std::size_t(1 + (7 * i) % 5), 0.5);
    for (double& v : x.v) v = std::sin(v + 0.1);
  };
  auto const adjoint = [](growing const& x, double& bar) { bar *= std::cos(x.v[0] + 0.1); };
  growing x, y;
  auto const want = cairn::gradient(resize, x, cairn::store_all(50), 1.0, adjoint);
  cairn::revolve const plan{50, 4};
  auto work = cairn::workspace_for<growing>(plan);
  for (int again = 0; again < 2; ++again) {
    y.v = {1.0};
    CHECK(cairn::gradient(resize, y, plan, 1.0, adjoint, work) == want);
  }
  solver z;
  solver::saved_again = 0;
  cairn::revolve const few{50, 3};
  (void)cairn::gradient(step, z, few, seed, moves);
  CHECK(cairn::wide(solver::saved_again) ==
        cairn::verify(few).saves + 1 - 4);  // the turn's is one more, and four are first ones
}
