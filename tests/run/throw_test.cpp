// SPDX-License-Identifier: Apache-2.0
// User code that throws: at every call of each function in turn, the exception comes out as it was thrown, nothing is
// left behind, the place is named, and the same workspace or run then gives the right bits.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <limits>
#include <type_traits>
#include <utility>
#include <vector>
#include <cairn/core/error.hpp>
#include <cairn/core/event.hpp>
#include <cairn/run/gradient.hpp>
#include <cairn/run/loop.hpp>
#include <cairn/run/with/hook.hpp>
#include <cairn/run/with/nested.hpp>
#include <cairn/schedule/action_list.hpp>
#include <cairn/schedule/any.hpp>
#include <cairn/schedule/leaves.hpp>
#include <cairn/schedule/revolve.hpp>
#include <cairn/schedule/uniform.hpp>
#include "support/catch.hpp"
#include "support/fuse.hpp"
#include "support/kernels.hpp"
#include "support/plans.hpp"

using cairn::action;
using cairn::action_kind;
using cairn::any_schedule;
using cairn::step_index;
using kernels::vec2;

namespace {

// Every function spoils what it is about to write before it may throw, so that a state or an adjoint that is half done
// cannot pass for a whole one afterwards.
constexpr double spoilt = 1e300;

void pass_with_spoilt(site here, double* numbers, step_index i) {
  double const kept = std::exchange(numbers[0], spoilt);
  the_fuse.pass(here, i);
  numbers[0] = kept;
}

struct in_place_step {
  void operator()(tracked& x, step_index i) const {
    pass_with_spoilt(site::step, x.numbers(), i);
    kernels::step(x.numbers(), i);
  }
};
struct by_value_step {
  tracked operator()(tracked const& x, step_index i) const {
    tracked y = x;
    in_place_step{}(y, i);
    return y;
  }
};
struct out_of_place_step {
  void operator()(tracked const& x, tracked& y, step_index i) const {
    pass_with_spoilt(site::step, y.numbers(), i);
    y.numbers()[0] = x.numbers()[0];
    y.numbers()[1] = x.numbers()[1];
    kernels::step(y.numbers(), i);
  }
};

struct one_step_adjoint {
  void operator()(tracked const& x, vec2& bar, step_index i) const {
    pass_with_spoilt(site::adjoint, bar.data(), i);
    kernels::adjoint(x.numbers(), bar.data(), i);
  }
};
struct by_value_adjoint {
  vec2 operator()(tracked const& x, vec2 bar, step_index i) const {
    one_step_adjoint{}(x, bar, i);
    return bar;
  }
};
struct with_next_adjoint {
  void operator()(tracked const& x, tracked const& x1, vec2& bar, step_index i) const {
    vec2 next = x.values();
    kernels::step(next.data(), i);
    if (next != x1.values()) bar[0] = spoilt;
    one_step_adjoint{}(x, bar, i);
  }
};
struct leaf_adjoint {
  void operator()(tracked const& x, vec2& bar, step_index first, step_index last) const {
    pass_with_spoilt(site::adjoint, bar.data(), first);
    std::vector<vec2> inside{x.values()};
    for (step_index i = first; i + 1 < last; ++i) {
      inside.push_back(inside.back());
      kernels::step(inside.back().data(), i);
    }
    for (step_index i = last; i-- > first; inside.pop_back()) kernels::adjoint(inside.back().data(), bar.data(), i);
  }
};
struct hook {
  void operator()(tracked const&, vec2& bar, step_index i) const { pass_with_spoilt(site::hook, bar.data(), i); }
};
struct tape {
  tracked before;
  step_index i;
};
auto recording() {
  return cairn::recorded{[](tracked& x, step_index i) {
                           tape kept{x, i};
                           in_place_step{}(x, i);
                           return kept;
                         },
                         [](tape const& kept, vec2& bar) { one_step_adjoint{}(kept.before, bar, kept.i); }};
}
struct seed {
  vec2 operator()(tracked const& last) const {
    the_fuse.pass(site::seed);
    return kernels::seed(last.numbers());
  }
};

/// Keeps the fuse informed of the action under way, and may throw itself.
struct watcher {
  std::int64_t number = -1;
  void operator()(cairn::event const& e) {
    if (e.moment() == cairn::moment::before) the_fuse.action = ++number;
    the_fuse.pass(site::observer);
    if (e.moment() == cairn::moment::after) the_fuse.action = -1;
  }
};

/// The phase of action k of a plan.
cairn::phase phase_of(std::vector<action> const& actions, std::size_t k) {
  std::size_t turn = 0;
  while (actions[turn].kind != action_kind::turn) ++turn;
  if (k <= turn) return cairn::phase::forward;
  return actions[k].kind == action_kind::reverse ? cairn::phase::reverse : cairn::phase::recompute;
}

/// Whether `body` throws what the fuse made, and that very object.
template <class Body>
bool burns_the_fuse(Body body, std::int64_t call) {
  try {
    body();
  } catch (planned const& e) {
    CHECK(&e == planned::made);
    CHECK(e.number == call);
    the_fuse.action = -1;
    return true;
  }
  return false;
}

constexpr std::int64_t never = std::numeric_limits<std::int64_t>::max();

void check_failure(cairn::sweep_failure const& failure, std::vector<action> const& actions, fuse::place const& call) {
  auto const number = std::size_t(call.action);
  action const& under_way = actions[number];
  CHECK(failure.failed);
  CHECK(failure.what == under_way);
  CHECK(failure.phase == phase_of(actions, number));
  if (call.step >= 0) {
    CHECK(failure.step == call.step);
  } else {  // a copy inside a run of steps belongs to one of them
    CHECK(failure.step >= under_way.from);
    CHECK(failure.step < std::max(under_way.to, under_way.from + 1));
  }
}

/// Makes `sweep(workspace, observer)` throw at each call from each site.
template <class State, class Plan, class Sweep>
void survives_every_throw(Plan const& plan, std::initializer_list<site> sites, Sweep sweep) {
  auto const expected = kernels::gradient(plan.steps());
  auto const actions = actions_of(plan);
  cairn::no_observer nobody;
  for (site const where : sites) {
    std::vector<fuse::place> calls;
    {
      cairn::workspace<State, Plan> work;
      watcher watching;
      the_fuse.arm(where, never);
      REQUIRE(sweep(work, watching) == expected);
      calls = the_fuse.calls();
    }
    REQUIRE(!calls.empty());
    for (std::size_t k = 0; k < calls.size(); ++k) {
      CAPTURE(plan.slots(), int(where), k);
      auto const alive = tracked::alive;
      {
        cairn::workspace<State, Plan> work;
        the_fuse.arm(where, std::int64_t(k));
        REQUIRE(burns_the_fuse(
            [&] {
              watcher watching;
              if (where == site::observer) sweep(work, watching);
              else sweep(work, nobody);
            },
            std::int64_t(k)));
        if (calls[k].action >= 0) check_failure(work.failure(), actions, calls[k]);
        the_fuse.disarm();
        CHECK(sweep(work, nobody) == expected);
        CHECK(!work.failure().failed);
      }
      CHECK(tracked::alive == alive);
    }
    the_fuse.disarm();
  }
}

std::vector<any_schedule> plans(step_index n) {
  return {cairn::revolve{n, 1},  cairn::revolve{n, 3}, cairn::revolve{n, 2, {.free_initial = true}},
          cairn::uniform{n}, cairn::store_all(n),  cairn::uniform{n, {.block = 4}}};
}

constexpr step_index n = 9;

}  // namespace

TEMPLATE_TEST_CASE("a gradient survives anything that its functions throw", "", in_place_step, by_value_step,
                   out_of_place_step) {
  tracked const x0{kernels::start};
  auto const everywhere = {site::step, site::adjoint, site::copy, site::seed, site::hook, site::observer};
  auto const sweep_of = [&](auto const& plan) {
    return [&](auto& work, auto& observer) {
      return cairn::gradient(TestType{}, x0, plan, seed{}, cairn::hooked(one_step_adjoint{}, hook{}), work, observer);
    };
  };
  for (auto const& plan : plans(n)) survives_every_throw<tracked>(plan, everywhere, sweep_of(plan));
  cairn::revolve const revolve{n, 3};
  survives_every_throw<tracked>(revolve, everywhere, sweep_of(revolve));
  cairn::uniform const uniform{n};
  survives_every_throw<tracked>(uniform, everywhere, sweep_of(uniform));
}

TEMPLATE_TEST_CASE("a gradient survives throwing adjoints of every form", "", in_place_step, by_value_step,
                   out_of_place_step) {
  tracked const x0{kernels::start};
  auto const everywhere = {site::step, site::adjoint, site::copy, site::seed, site::observer};
  auto const check = [&](any_schedule const& plan, auto adjoint) {
    survives_every_throw<tracked>(plan, everywhere, [&](auto& work, auto& observer) {
      return cairn::gradient(TestType{}, x0, plan, seed{}, adjoint, work, observer);
    });
  };
  for (auto const& plan : plans(n)) {
    check(plan, by_value_adjoint{});
    check(plan, with_next_adjoint{});
    check(plan, recording());
  }
  for (step_index const size : {2, 4, 9}) {
    step_index const count = (n + size - 1) / size;
    check(cairn::leaves{n, size, cairn::revolve{count, 2}}, cairn::leaf(leaf_adjoint{}));
    check(cairn::leaves{n, size, cairn::store_all(count)}, cairn::leaf(leaf_adjoint{}));
  }
}

TEST_CASE("a plan that keeps tapes loses none to an exception") {
  using enum action_kind;
  auto const memory = cairn::tier::memory;
  auto const state = cairn::content::state, taped = cairn::content::tape;
  any_schedule const plan = cairn::action_list{4,
                                          1,
                                          {{save, memory, state, 0, 0, 0},
                                           {advance, memory, state, -1, 0, 2},
                                           {record, memory, taped, 0, 2, 3},
                                           {turn, memory, state, -1, 3, 4},
                                           {reverse, memory, state, -1, 3, 4},
                                           {reverse, memory, taped, 0, 2, 3},
                                           {drop, memory, taped, 0, 0, 0},
                                           {load, memory, state, 0, 0, 0},
                                           {drop, memory, state, 0, 0, 0},
                                           {record, memory, taped, 0, 0, 1},
                                           {reverse, memory, state, -1, 1, 2},
                                           {reverse, memory, taped, 0, 0, 1},
                                           {drop, memory, taped, 0, 0, 0}},
                                          {.tapes = 1}};
  tracked const x0{kernels::start};
  survives_every_throw<tracked>(
      plan, {site::step, site::adjoint, site::copy, site::seed, site::observer}, [&](auto& work, auto& observer) {
        return cairn::gradient(in_place_step{}, x0, plan, seed{}, recording(), work, observer);
      });
}

namespace {

/// A state that stays where it is. Saving and restoring pass the fuse as copies.
class solver {
 public:
  solver() = default;
  solver(solver const&) = delete;
  solver& operator=(solver const&) = delete;
  [[nodiscard]] tracked save() const {
    the_fuse.pass(site::copy);
    return tracked{numbers_};
  }
  void restore(tracked const& saved) {
    pass_with_spoilt(site::copy, numbers_.data(), -1);
    numbers_ = saved.values();
  }
  void reset() { numbers_ = kernels::start; }
  [[nodiscard]] double* numbers() { return numbers_.data(); }
  [[nodiscard]] double const* numbers() const { return numbers_.data(); }

 private:
  vec2 numbers_ = kernels::start;
};

struct solver_step {
  void operator()(solver& x, step_index i) const {
    pass_with_spoilt(site::step, x.numbers(), i);
    kernels::step(x.numbers(), i);
  }
};
struct solver_adjoint {
  void operator()(solver const& x, vec2& bar, step_index i) const {
    pass_with_spoilt(site::adjoint, bar.data(), i);
    kernels::adjoint(x.numbers(), bar.data(), i);
  }
};
struct solver_seed {
  vec2 operator()(solver const& last) const {
    the_fuse.pass(site::seed);
    return kernels::seed(last.numbers());
  }
};

}  // namespace

TEST_CASE("a gradient survives a state that cannot be copied and throws when saved or restored") {
  solver x;
  auto const check = [&](auto const& plan) {
    survives_every_throw<solver>(
        plan, {site::step, site::adjoint, site::copy, site::seed, site::observer}, [&](auto& work, auto& observer) {
          x.reset();
          return cairn::gradient(solver_step{}, x, plan, solver_seed{}, solver_adjoint{}, work, observer);
        });
  };
  for (auto const& plan : plans(n)) check(plan);
  check(cairn::revolve{n, 3});
  check(cairn::uniform{n});
}

namespace {

/// Makes a loop, and then `use(run)`, throw at each call from each site. Looks at what the failing object says, uses
/// the same run again, and then the same workspace.
template <class Step, class State, class Expected, class Use>
void run_survives_every_throw(any_schedule const& plan, State& x0, std::initializer_list<site> sites,
                              Expected const& expected, Use use) {
  auto const begin_again = [&] {
    if constexpr (requires { x0.reset(); }) x0.reset();
  };
  auto const attempt = [&](site where, std::int64_t k, auto observer) {
    cairn::workspace<std::remove_const_t<State>, any_schedule> work;
    bool built = false;
    the_fuse.arm(where, k);
    bool burnt = burns_the_fuse(
        [&] {
          begin_again();
          auto run = cairn::checkpointed_loop(Step{}, x0, plan, work, observer);
          built = true;
          Expected got;
          if (!burns_the_fuse([&] { got = use(run); }, k)) {
            CHECK(got == expected);
            return;
          }
          auto const& failure = run.failure();
          if (where != site::seed) {
            CHECK(failure.failed);
            CHECK(failure.phase != cairn::phase::forward);
            CHECK(failure.step >= 0);
            CHECK(failure.step <= plan.steps());
            if (the_fuse.last_step() >= 0) CHECK(failure.step == the_fuse.last_step());
          }
          the_fuse.disarm();
          if constexpr (cairn::copied_state<std::remove_const_t<State>>) {
            for (step_index i = 0; i <= plan.steps(); ++i) CHECK(run.at(i).values() == kernels::states(i).back());
            CHECK(use(run) == expected);
          }
          throw planned{k};  // as if this had been the first exception
        },
        k);
    bool const copying_x0 = where == site::copy && k == 0;
    if (burnt && !built && !copying_x0) {
      CHECK(work.failure().failed);
      CHECK(work.failure().phase == cairn::phase::forward);
      CHECK(work.failure().step >= 0);
      if (the_fuse.last_step() >= 0) CHECK(work.failure().step == the_fuse.last_step());
    }
    the_fuse.disarm();
    begin_again();
    auto run = cairn::checkpointed_loop(Step{}, x0, plan, work);
    CHECK(use(run) == expected);
    return burnt;
  };
  for (site const where : sites) {
    std::int64_t k = 0;
    for (bool burnt = true; burnt; ++k) {
      CAPTURE(plan.slots(), int(where), k);
      auto const alive = tracked::alive;
      burnt = where == site::observer ? attempt(where, k, watcher{}) : attempt(where, k, cairn::no_observer{});
      CHECK(tracked::alive == alive);
    }
    CHECK(k > 1);
  }
}

}  // namespace

TEMPLATE_TEST_CASE("a run survives what is thrown in its first and its second reverse", "", in_place_step,
                   by_value_step, out_of_place_step) {
  tracked const start{kernels::start};
  auto const g = kernels::gradient(n);
  std::vector<vec2> const expected{g, g};
  for (auto const& plan : plans(n)) {
    run_survives_every_throw<TestType>(plan, start,
                                       {site::step, site::adjoint, site::copy, site::seed, site::hook, site::observer},
                                       expected, [](auto& run) {
                                         auto const adjoint = cairn::hooked(one_step_adjoint{}, hook{});
                                         auto const first = run.reverse(seed{}, adjoint);
                                         return std::vector<vec2>{first, run.reverse(seed{}, adjoint)};
                                       });
  }
}

TEMPLATE_TEST_CASE("a run survives what is thrown by adjoints of every form", "", in_place_step, by_value_step,
                   out_of_place_step) {
  tracked const start{kernels::start};
  auto const g = kernels::gradient(n);
  std::vector<vec2> const expected{g, g, g};
  for (any_schedule const& plan : {any_schedule{cairn::revolve{n, 3}}, any_schedule{cairn::uniform{n}}}) {
    run_survives_every_throw<TestType>(
        plan, start, {site::step, site::adjoint, site::copy, site::seed, site::observer}, expected, [](auto& run) {
          auto const first = run.reverse(seed{}, with_next_adjoint{});
          auto const second = run.reverse(seed{}, recording());
          return std::vector<vec2>{first, second, run.reverse(seed{}, by_value_adjoint{})};
        });
  }
}

TEMPLATE_TEST_CASE("a run survives what is thrown while it is walked backwards", "", in_place_step, by_value_step,
                   out_of_place_step) {
  tracked const start{kernels::start};
  auto const forward = kernels::states(n);
  std::vector<vec2> const expected(forward.rbegin(), forward.rend());
  for (auto const& plan : plans(n)) {
    run_survives_every_throw<TestType>(plan, start, {site::step, site::copy, site::observer}, expected, [](auto& run) {
      std::vector<vec2> seen;
      for (auto [i, x] : run.backward()) seen.push_back(x.values());
      return seen;
    });
  }
}

TEMPLATE_TEST_CASE("a run survives what is thrown while it makes one state", "", in_place_step, by_value_step,
                   out_of_place_step) {
  tracked const start{kernels::start};
  auto const expected = kernels::states(n);
  for (any_schedule const& plan : {any_schedule{cairn::revolve{n, 3}}, any_schedule{cairn::uniform{n}}}) {
    run_survives_every_throw<TestType>(plan, start, {site::step, site::copy}, expected, [](auto& run) {
      std::vector<vec2> seen;
      for (step_index i = 0; i <= n; ++i) seen.push_back(run.at(i).values());
      return seen;
    });
  }
}

TEST_CASE("a run survives a state that cannot be copied and throws when saved or restored") {
  solver x;
  std::vector<vec2> const expected{kernels::gradient(n)};
  for (auto const& plan : plans(n)) {
    run_survives_every_throw<solver_step>(
        plan, x, {site::step, site::adjoint, site::copy, site::seed, site::observer}, expected,
        [](auto& run) { return std::vector<vec2>{run.reverse(solver_seed{}, solver_adjoint{})}; });
  }
}

TEST_CASE("a loop in a loop survives what its inner functions throw") {
  tracked const x0{kernels::start};
  auto const expected = kernels::gradient(12);
  cairn::revolve const outer_plan{4, 2};
  for (site const where : {site::step, site::adjoint, site::copy}) {
    bool burnt = true;
    for (std::int64_t k = 0; burnt; ++k) {
      CAPTURE(int(where), k);
      auto const alive = tracked::alive;
      {
        cairn::workspace<tracked, cairn::revolve> work;
        cairn::nested outer{cairn::revolve{3, 2}, in_place_step{}, one_step_adjoint{}};
        auto const sweep = [&] { return cairn::gradient(outer.step, x0, outer_plan, seed{}, outer.adjoint, work); };
        the_fuse.arm(where, k);
        burnt = burns_the_fuse(sweep, k);
        the_fuse.disarm();
        CHECK(sweep() == expected);
      }
      CHECK(tracked::alive == alive);
    }
  }
}

TEST_CASE("an exception of the seed is reported as one after the forward run") {
  tracked const x0{kernels::start};
  cairn::revolve const plan{n, 3};
  auto const check = [](auto& failed, auto sweep) {
    the_fuse.arm(site::seed, 0);
    CHECK(burns_the_fuse(sweep, 0));
    CHECK(failed.failure().failed);
    CHECK(failed.failure().phase != cairn::phase::forward);
    CHECK(failed.failure().step >= n - 1);
    CHECK(failed.failure().step <= n);
  };
  cairn::workspace<tracked, cairn::revolve> work;
  check(work, [&] { cairn::gradient(in_place_step{}, x0, plan, seed{}, one_step_adjoint{}, work); });
  auto run = cairn::checkpointed_loop(in_place_step{}, x0, plan);
  check(run, [&] { run.reverse(seed{}, one_step_adjoint{}); });
}

TEST_CASE("an exception while the initial state is copied is reported as one of step 0 of the forward run") {
  tracked const x0{kernels::start};
  cairn::revolve const plan{n, 3};
  cairn::workspace<tracked, cairn::revolve> work;
  auto const check = [&](auto sweep) {
    the_fuse.arm(site::copy, 0);
    CHECK(burns_the_fuse(sweep, 0));
    CHECK(work.failure().failed);
    CHECK(work.failure().phase == cairn::phase::forward);
    CHECK(work.failure().step == 0);
  };
  check([&] { cairn::gradient(in_place_step{}, x0, plan, seed{}, one_step_adjoint{}, work); });
  check([&] { (void)cairn::checkpointed_loop(in_place_step{}, x0, plan, work); });
}

TEST_CASE("a sweep that starts another in its own workspace gets a reentrancy_error, and the workspace lives on") {
  using work_type = cairn::workspace<tracked, cairn::revolve>;
  tracked const x0{kernels::start};
  cairn::revolve const plan{n, 3};
  auto const expected = kernels::gradient(n);
  work_type work;
  auto const sweep = [&] { return cairn::gradient(in_place_step{}, x0, plan, seed{}, one_step_adjoint{}, work); };
  auto const loop = [&] {
    return cairn::checkpointed_loop(in_place_step{}, x0, plan, work).reverse(seed{}, one_step_adjoint{});
  };
  auto const again_in = [&](step_index i, step_index at) {
    if (i != at) return;
    if (at % 2 == 0) sweep();
    else loop();
  };
  for (step_index const at : {0, 3, 8}) {
    CAPTURE(at);
    auto const step = [&](tracked& x, step_index i) {
      again_in(i, at);
      kernels::step(x.numbers(), i);
    };
    auto const adjoint = [&](tracked const& x, vec2& bar, step_index i) {
      again_in(i, at);
      kernels::adjoint(x.numbers(), bar.data(), i);
    };
    auto const observer = [&](cairn::event const& e) { again_in(e.what().from, at); };

    CHECK_THROWS_AS(cairn::gradient(step, x0, plan, seed{}, one_step_adjoint{}, work), cairn::reentrancy_error);
    CHECK(work.failure().failed);
    CHECK(work.failure().step == at);
    CHECK(sweep() == expected);

    CHECK_THROWS_AS(cairn::gradient(in_place_step{}, x0, plan, seed{}, adjoint, work), cairn::reentrancy_error);
    CHECK(work.failure().phase == cairn::phase::reverse);
    CHECK(work.failure().step == at);
    CHECK(loop() == expected);

    CHECK_THROWS_AS(cairn::gradient(
                        in_place_step{}, x0, plan, [&](tracked const&) { return sweep(); }, one_step_adjoint{}, work),
                    cairn::reentrancy_error);
    CHECK(sweep() == expected);

    CHECK_THROWS_AS(cairn::gradient(in_place_step{}, x0, plan, seed{}, one_step_adjoint{}, work, observer),
                    cairn::reentrancy_error);
    CHECK(loop() == expected);

    CHECK_THROWS_AS(cairn::checkpointed_loop(step, x0, plan, work), cairn::reentrancy_error);
    CHECK(sweep() == expected);

    auto run = cairn::checkpointed_loop(in_place_step{}, x0, plan, work);
    CHECK_THROWS_AS(run.reverse(seed{}, adjoint), cairn::reentrancy_error);
    CHECK(run.reverse(seed{}, one_step_adjoint{}) == expected);
  }
}

TEST_CASE("a run whose workspace has served another sweep refuses to go on, or is right") {
  tracked const x0{kernels::start}, other{vec2{0.1, 0.2}};
  cairn::revolve const plan{n, 3};
  cairn::workspace<tracked, cairn::revolve> work;
  auto run = cairn::checkpointed_loop(in_place_step{}, x0, plan, work);
  (void)cairn::gradient(in_place_step{}, other, plan, seed{}, one_step_adjoint{}, work);
  vec2 bar = kernels::gradient(n);
  try {
    bar = run.reverse(seed{}, one_step_adjoint{});
  } catch (cairn::error const&) {
  }
  CHECK(bar == kernels::gradient(n));
}

TEST_CASE("a walk backwards that is interrupted by a reverse of the same run refuses to go on, or is right") {
  tracked const x0{kernels::start};
  auto const states = kernels::states(n);
  auto run = cairn::checkpointed_loop(in_place_step{}, x0, cairn::revolve{n, 3});
  bool right = true;
  try {
    for (auto [i, x] : run.backward()) {
      right = right && x.values() == states[std::size_t(i)];
      if (i == 5) CHECK(run.reverse(seed{}, one_step_adjoint{}) == kernels::gradient(n));
    }
  } catch (cairn::error const&) {
  }
  CHECK(right);
}
