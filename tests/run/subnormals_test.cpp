// SPDX-License-Identifier: Apache-2.0
// Numbers that vanish: the mode of a thread and of a sweep, what a report says, what a replay check holds equal. A run
// on disk is in adapt/disk/arithmetic_test.cpp.
#include <cstddef>
#include <limits>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>
#include <cairn/cairn.hpp>
#include <cairn/chains.hpp>
#include <cairn/run/with/flush_subnormals.hpp>
#include <cairn/planning.hpp>
#include "support/catch.hpp"

using cairn::flush_subnormals;
using cairn::step_index;

namespace {

using numbers = std::vector<float>;
constexpr float least = std::numeric_limits<float>::min();
constexpr step_index n = 1'000;
auto const step = [](numbers& x) { for (float& v : x) v = 0.9f * v + 0.01f; };
auto const adjoint = [](numbers const&, numbers& bar) { for (float& v : bar) v *= 0.9f; };
numbers const x0(8, 1.0f), ones(8, 1.0f);
cairn::revolve const plan{n, 10};
/// Whether this thread makes subnormal numbers, as a product shows.
bool makes_subnormals() {
  float volatile small = least;
  return small * 0.5f != 0;
}
bool all_are(numbers const& x, bool vanished) {
  for (float const v : x)
    if ((v == 0) != vanished) return false;
  return true;
}
constexpr bool works = flush_subnormals::works;

}  // namespace

TEST_CASE("a guard flushes as long as it exists, nested ones too") {
  CHECK(makes_subnormals());
  CHECK_FALSE(flush_subnormals::is_on());
  {
    flush_subnormals const outer;
    CHECK(makes_subnormals() == !works);
    CHECK(flush_subnormals::is_on() == works);
    { flush_subnormals const inner; }
    CHECK(makes_subnormals() == !works);
  }
  CHECK(makes_subnormals());
}

TEST_CASE("an operand that is subnormal counts as zero") {
  float volatile tiny = least;
  tiny = tiny * 0.5f;
  flush_subnormals const flushed;
  CHECK((tiny * 1e30f == 0) == works);
}

TEST_CASE("a sweep that flushes has the bits of a guard around it, and leaves the mode as it was") {
  auto const plain = cairn::gradient(step, x0, plan, ones, adjoint);
  CHECK(all_are(plain, false));
  auto const guarded = [] {
    flush_subnormals const flushed;
    return cairn::gradient(step, x0, plan, ones, adjoint);
  }();
  CHECK(all_are(guarded, works));
  CHECK(cairn::gradient(step, x0, plan, ones, adjoint, flush_subnormals{}) == guarded);
  CHECK(cairn::gradient(step, x0, cairn::budget_of{n, "4kB"}, ones, adjoint, flush_subnormals{}) == guarded);
  CHECK(makes_subnormals());
  auto const fails = [](numbers const&, numbers&) { throw std::runtime_error{"stop"}; };
  CHECK_THROWS_AS(cairn::gradient(step, x0, plan, ones, fails, flush_subnormals{}), std::runtime_error);
  CHECK(makes_subnormals());
}

TEST_CASE("every verb of one call takes it, beside its other arguments") {
  bool flushed = false;
  auto const asks = [&](numbers& x) { flushed = !makes_subnormals(), step(x); };
  cairn::sweep_report report;
  cairn::memory_store store;
  cairn::gradient(asks, x0, plan, ones, adjoint, report, flush_subnormals{}, store,
                  cairn::sweep_options{.verify = cairn::replay_check::checkpoints});
  CHECK(std::exchange(flushed, false) == works);
  cairn::model const loop{asks, adjoint};
  auto const end = cairn::at_end([](numbers const& x) { return double(x[0]); },
                                 [](numbers const&, numbers& bar) { bar[0] += 1; });
  cairn::differentiate(loop, x0, plan, end, flush_subnormals{});
  CHECK(std::exchange(flushed, false) == works);
  step_index seen = 0;
  auto const goes_on = [&](numbers const&, step_index i) { return seen = i, i < 20; };
  cairn::differentiate(loop, x0, cairn::run_while{goes_on, cairn::online{5}}, end, flush_subnormals{});
  CHECK(std::exchange(flushed, false) == works);
  struct stage {
    bool* flushed;
    double forward(double x) const { return *flushed = !makes_subnormals(), 0.5 * x; }
    double backward(double, double bar) const { return 0.5 * bar; }
  };
  std::vector<stage> const net(3, {&flushed});
  cairn::chain_planner planner{{.x = {8, 8, 8, 8}, .s = {8, 8, 8}, .u = {1, 1, 1}}};
  cairn::chain_gradient(net, 0.7, planner.plan(planner.least_bytes()), 1.0, flush_subnormals{});
  CHECK(std::exchange(flushed, false) == works);
  CHECK(makes_subnormals());
}

TEST_CASE("a report counts the subnormal numbers of the adjoint, and says what would help") {
  cairn::sweep_report report;
  cairn::gradient(step, x0, plan, ones, adjoint, report);
  CHECK(report.subnormals == 8);
  CHECK_THAT(report.advice(), Catch::Matchers::ContainsSubstring("cairn::flush_subnormals{}"));
  if (works) {
    cairn::gradient(step, x0, plan, ones, adjoint, report, flush_subnormals{});
    CHECK(report.subnormals == 0);
  }
  auto const stays = [](numbers const&, numbers&) {};
  cairn::gradient(step, x0, plan, ones, stays, report);
  CHECK(report.subnormals == 0);
  CHECK(std::string{report.advice()}.empty());
}

TEST_CASE("numbers that vanish on the way and come back are counted, and zeros are not") {
  cairn::sweep_report report;
  auto const comes_back = [](numbers const&, numbers& bar, step_index i) {
    for (float& v : bar) v = i == 3 ? 1.0f : v * 0.9f;
    bar[0] = 0;
  };
  cairn::gradient(step, x0, plan, ones, comes_back, report);
  CHECK(report.subnormals == 7);
  auto kept = cairn::checkpointed_loop(step, x0, plan, report);
  kept.reverse(ones, comes_back);
  CHECK(report.subnormals == 7);
  kept.reverse(ones, [](numbers const&, numbers&) {});
  CHECK(report.subnormals == 0);
}

TEST_CASE("a replay check finds states that were made in another mode") {
  if (!works) CAIRN_SKIP("flush_subnormals does nothing here");
  auto const decays = [](numbers& x) { for (float& v : x) v *= 0.9f; };
  auto const once = [&](bool forward_flushes, bool back_flushes) {
    auto run = [&] {
      if (!forward_flushes)
        return cairn::checkpointed_loop(decays, x0, plan, cairn::sweep_options{cairn::replay_check::checkpoints});
      flush_subnormals const flushed;
      return cairn::checkpointed_loop(decays, x0, plan, cairn::sweep_options{cairn::replay_check::checkpoints});
    }();
    if (!back_flushes) return run.reverse(ones, adjoint);
    flush_subnormals const flushed;
    return run.reverse(ones, adjoint);
  };
  CHECK_NOTHROW(once(false, false));
  CHECK_NOTHROW(once(true, true));
  CHECK_THROWS_AS(once(true, false), cairn::nondeterminism_error);
  CHECK_THROWS_AS(once(false, true), cairn::nondeterminism_error);
}
