// SPDX-License-Identifier: Apache-2.0
// Memory of sweeps over objects: a warm sweep makes no allocation, peaks are as predicted, and clear() gives all back.
// This program replaces operator new.
#include <cairn/cairn.hpp>
#include <cmath>
#include <vector>
#include "support/catch.hpp"
#include "support/heap.hpp"

namespace {

using cairn::step_index;
using field = std::vector<double>;

/// Saves into an old snapshot, and so without taking memory.
class solver {
 public:
  explicit solver(std::size_t cells = 50) : u_(cells, 0.3), bar_(cells) {}
  solver(solver const&) = delete;
  [[nodiscard]] field save() const { return u_; }
  void save(field& into) const { into = u_; }
  void restore(field const& snapshot) { u_ = snapshot; }

  void advance(step_index i) {
    for (double& u : u_) u = std::sin(u + 0.01 * double(i));
  }
  void seed() { seed_with(1); }
  void seed_with(double bar) { bar_.assign(u_.size(), bar); }
  /// Goes on from the state, as a library's adjoint that runs the step again.
  void reverse(step_index i) {
    for (std::size_t k = 0; k < u_.size(); ++k) bar_[k] *= std::cos(u_[k] + 0.01 * double(i));
    advance(i);
  }
  void begin() { u_.assign(u_.size(), 0.3); }
  [[nodiscard]] field const& bar() const { return bar_; }
  [[nodiscard]] double first() const { return u_[0]; }

 private:
  field u_, bar_;
};
/// The same, which only saves new snapshots.
struct cold_solver : solver {
  using solver::solver;
  [[nodiscard]] field save() const { return solver::save(); }
};

auto const step = [](solver& x, step_index i) { x.advance(i); };
auto const seed = [](solver& x) { x.seed(); };
auto const adjoint = [](solver& x, step_index i) { x.reverse(i); };

/// Allocations of the third of three equal sweeps.
template <class Object, class Sweep>
std::size_t warm_allocations(Sweep sweep) {
  Object x, plain;
  plain.begin();
  (void)cairn::gradient(step, plain, cairn::store_all(30), seed, adjoint);
  std::size_t allocated = 0;
  for (int k = 0; k < 3; ++k) {
    x.begin();
    heap::mark const mark;
    sweep(x);
    allocated = mark.allocated();
    CHECK(x.bar() == plain.bar());
  }
  return allocated;
}

template <class Check>
void on_plans(Check check) {
  check(cairn::store_all(30));
  check(cairn::uniform{30});
  check(cairn::revolve{30, 4});
  check(cairn::revolve{30, 3, {.free_initial = true}});
  check(cairn::any_schedule{cairn::revolve{30, 4}});
}

}  // namespace

TEST_CASE("a warm gradient over an object that saves into old snapshots allocates nothing") {
  on_plans([](auto const& plan) {
    CAPTURE(plan.slots());
    auto work = cairn::workspace_for<solver>(plan);
    CHECK(warm_allocations<solver>([&](solver& x) { (void)cairn::gradient(step, x, plan, seed, adjoint, work); }) == 0);
    auto cold = cairn::workspace_for<cold_solver>(plan);
    CHECK(warm_allocations<cold_solver>(
              [&](cold_solver& x) { (void)cairn::gradient(step, x, plan, seed, adjoint, cold); }) > 0);
  });
}

TEST_CASE(
    "warm runs, hooks, recorded adjoints, loops in loops and replay checks over such an object allocate nothing") {
  on_plans([](auto const& plan) {
    CAPTURE(plan.slots());
    auto work = cairn::workspace_for<solver>(plan);
    CHECK(warm_allocations<solver>([&](solver& x) {
            auto run = cairn::checkpointed_loop(step, x, plan, work);
            (void)run.reverse(seed, adjoint);
            (void)run.reverse(seed, adjoint);
          }) == 0);
    auto const hooked = cairn::hooked(adjoint, [](solver&, step_index) {});
    CHECK(warm_allocations<solver>([&](solver& x) { (void)cairn::gradient(step, x, plan, seed, hooked, work); }) == 0);
    cairn::recorded const recorded{[](solver& x, step_index i) {
                                     double const u = x.first();  // all cells are alike
                                     x.advance(i);
                                     return u;
                                   },
                                   [](double u, double& bar, step_index i) { bar *= std::cos(u + 0.01 * double(i)); }};
    CHECK(warm_allocations<solver>([&](solver& x) {
            double const bar = cairn::gradient(step, x, plan, 1.0, recorded, work);
            x.seed_with(bar);
          }) == 0);
    auto checked = cairn::workspace_for<solver>(plan, cairn::sweep_options{.verify = cairn::replay_check::every_step});
    CHECK(warm_allocations<solver>([&](solver& x) { (void)cairn::gradient(step, x, plan, seed, adjoint, checked); }) ==
          0);
  });
  cairn::nested const loop{cairn::revolve{6, 2}, step, adjoint};
  auto work = cairn::workspace_for<solver>(cairn::revolve{5, 2});
  CHECK(warm_allocations<solver>([&](solver& x) {
          (void)cairn::gradient(loop.step, x, cairn::revolve{5, 2}, seed, loop.adjoint, work);
        }) == 0);
  cairn::online const open{4};
  auto learning = cairn::workspace_for<solver>(open);
  CHECK(warm_allocations<solver>([&](solver& x) {
          auto run = cairn::checkpointed_while(
              step, x, [](solver const&, step_index i) { return i < 30; }, open, learning);
          (void)run.reverse(seed, adjoint);
        }) == 0);
}

TEST_CASE("clear() gives back the memory of a workspace, and the next sweep takes it anew") {
  auto const check = [](auto& work, auto sweep) {
    struct {
      std::size_t warm, cleared, again;
      bool same;
    } seen{};
    work.clear();
    std::size_t const empty = heap::held;
    {
      auto const first = sweep();
      seen.warm = heap::held;
      work.clear();
      work.clear();
      seen.cleared = heap::held;
      seen.same = sweep() == first;
      seen.again = heap::held;
    }
    CHECK(seen.warm > empty + 4 * 50 * sizeof(double));
    CHECK(seen.cleared == empty);
    CHECK(seen.same);
    CHECK(seen.again == seen.warm);
    work.clear();
    CHECK(work.frame_count() == 0);
  };
  {
    cairn::revolve const plan{30, 4};
    cairn::sweep_options const verify{.verify = cairn::replay_check::checkpoints};
    auto const value_step = [](field& x) { for (double& u : x) u = std::sin(u); };
    auto const value_adjoint = [](field const& x, double& bar) { bar *= std::cos(x[0]); };
    auto const value_record = cairn::recorded{[&](field& x) {
                                                double const u = x[0];
                                                value_step(x);
                                                return u;
                                              },
                                              [](double u, double& bar) { bar *= std::cos(u); }};
    field const x0(50, 0.3);
    auto work = cairn::workspace_for<field>(plan);
    check(work, [&] { return cairn::gradient(value_step, x0, plan, 1.0, value_adjoint, work); });
    check(work, [&] { return cairn::gradient(value_step, x0, plan, 1.0, value_record, work); });
    check(work, [&] { return cairn::checkpointed_loop(value_step, x0, plan, work).reverse(1.0, value_adjoint); });
    auto checked = cairn::workspace_for<field>(plan, verify);
    check(checked, [&] { return cairn::gradient(value_step, x0, plan, 1.0, value_adjoint, checked); });
    auto objects = cairn::workspace_for<solver>(plan, verify);
    solver x;
    double last = 0;
    check(objects, [&] {
      x.begin();
      (void)cairn::gradient(step, x, plan, seed, adjoint, objects);
      last = x.bar()[0];
      return last;
    });
  }
}

TEST_CASE("a workspace in use is not cleared, and a run whose workspace was cleared is over") {
  cairn::revolve const plan{30, 4};
  auto work = cairn::workspace_for<solver>(plan);
  solver x;
  CHECK_THROWS_AS(cairn::gradient([&](solver&) { work.clear(); }, x, plan, seed, adjoint, work),
                  cairn::reentrancy_error);
  auto run = cairn::checkpointed_loop(step, x, plan, work);
  work.clear();
  CHECK_THROWS_AS(run.reverse(seed, adjoint), cairn::invalid_call);
  CHECK_THROWS_AS(run.at(3), cairn::invalid_call);
}
