// SPDX-License-Identifier: Apache-2.0
// Solver objects that cannot be copied: they stay where they are and hand out snapshots.
#include <cairn/cairn.hpp>
#include "support/catch.hpp"
#include "support/pendulum.hpp"

using cairn::step_index;
namespace {

struct solver {
  pendulum::numbers v = pendulum::start().v;
  solver() = default;
  solver(solver const&) = delete;
  solver& operator=(solver const&) = delete;
  [[nodiscard]] pendulum::state save() const { return pendulum::state{v}; }
  void restore(pendulum::state const& snapshot) { v = snapshot.v; }
};

/// The same for a type that one does not own.
struct foreign_solver {
  pendulum::numbers v = pendulum::start().v;
  foreign_solver() = default;
  foreign_solver(foreign_solver const&) = delete;
};

}  // namespace
template <>
struct cairn::state_traits<foreign_solver> {
  static pendulum::numbers save(foreign_solver const& x) { return x.v; }
  static void restore(foreign_solver& x, pendulum::numbers const& snapshot) { x.v = snapshot; }
};
namespace {

template <class Solver>
void check(auto const& plan) {
  pendulum::stored const all{plan.steps()};
  auto const step = [](Solver& x, step_index i) { ++pendulum::step_calls, pendulum::swing(x.v, x.v, i); };
  auto const adjoint = [](Solver const& x, pendulum::numbers& bar, step_index) { pendulum::swing_back(x.v, bar); };
  auto const seed = [](Solver const& x) { return x.v; };
  CAPTURE(plan.steps(), plan.slots());
  int const outside = pendulum::state::alive;
  {
    Solver x;
    pendulum::state::peak = outside;
    pendulum::step_calls = 0;
    CHECK(cairn::gradient(step, x, plan, seed, adjoint) == all.gradient);
    CHECK(cairn::wide(pendulum::step_calls) == cairn::estimate(plan).step_calls);
    if (std::is_same_v<Solver, solver>) CHECK(pendulum::state::peak - outside <= plan.slots() + 2);
  }
  {
    Solver x;
    auto run = cairn::checkpointed_loop(step, x, plan);
    CHECK(run.final_state().v == all.states.back());
    CHECK(run.reverse(seed, adjoint) == all.gradient);
    CHECK(run.reverse(seed, adjoint) == all.gradient);
  }
  CHECK(pendulum::state::alive == outside);
}

}  // namespace

TEST_CASE("a solver object that cannot be copied gives the bits of storing everything") {
  for (step_index const n : {0, 1, 2, 3, 97}) {
    for (step_index const slots : {1, 4}) {
      check<solver>(cairn::revolve{n, slots});
      check<solver>(cairn::revolve{n, slots, {.free_initial = true}});
      check<foreign_solver>(cairn::revolve{n, slots});
    }
    check<solver>(cairn::uniform{n});
    check<solver>(cairn::store_all(n));
  }
}

TEST_CASE("a stopped sweep of a solver resumes from its initial state") {
  cairn::revolve const plan{30, 3};
  pendulum::stored const all{30};
  solver x;
  auto work = cairn::workspace_for<solver>(plan);
  cairn::resume_point<pendulum::numbers> noted{};
  long left = 60;
  auto const step = [&](solver& s, step_index i) {
    if (left-- == 0) throw 1;
    pendulum::swing(s.v, s.v, i);
  };
  auto const adjoint =
      cairn::hooked([](solver const& s, pendulum::numbers& bar, step_index) { pendulum::swing_back(s.v, bar); },
                    [&](solver const&, pendulum::numbers const& bar, step_index i) {
                      noted = {i, bar};
                    });
  CHECK_THROWS_AS(cairn::gradient(step, x, plan, [](solver const& s) { return s.v; }, adjoint, work), int);
  CHECK(work.failure().failed);
  CHECK(noted.open > 0);
  solver again;
  CHECK(cairn::resume(step, again, plan, noted, adjoint, work) == all.gradient);
}
