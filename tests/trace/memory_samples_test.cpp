// SPDX-License-Identifier: Apache-2.0
// Predicted beside measured memory: what observers record.
#include <cairn/trace/memory_samples.hpp>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>
#include <cairn/cairn.hpp>
#include <cairn/chains.hpp>
#include <cairn/plan/text/memory_curve.hpp>
#include <cairn/plan/text/memory_over_time.hpp>
#include "support/catch.hpp"
#include "support/heap.hpp"

using namespace cairn;
using Catch::Matchers::ContainsSubstring;

namespace {

std::int64_t peak_of(std::vector<memory_sample> const& samples) {
  return samples.empty() ? 0 : std::ranges::max_element(samples, {}, &memory_sample::bytes)->bytes;
}

using field = std::vector<double>;
void step(field& x) {
  for (double& v : x) v = std::sin(v);
}
void adjoint(field const& x, field& bar) {
  for (std::size_t k = 0; k < x.size(); ++k) bar[k] *= std::cos(x[k]);
}
/// What the heap of this program holds, and the most since the last look.
struct heap_meter {
  std::size_t before = heap::held;
  std::int64_t operator()() const {
    auto const most = std::int64_t(heap::peak) - std::int64_t(before);
    heap::peak = heap::held;
    return most;
  }
};
/// A stage whose result has a length of its own.
struct layer {
  std::size_t out;
  [[nodiscard]] field forward(field const& x) const { return field(out, x[0]); }
  [[nodiscard]] field backward(field const& x, field const& bar) const { return field(x.size(), bar[0]); }
};

}  // namespace

TEST_CASE("a loop's curve as samples has its numbers", "[tool][picture]") {
  auto const curve = memory_over(revolve{20, 3}, {.state_bytes = 1'000, .adjoint_bytes = 8});
  auto const samples = samples_of(curve);
  REQUIRE(samples.size() == curve.held.size());
  for (std::size_t k = 0; k < samples.size(); ++k)
    CHECK(samples[k] == memory_sample{std::int64_t(k), std::int64_t(k) + 1, std::int64_t(curve.held[k])});
  memory_curve huge;
  huge.held.push_back(huge.peak = wide{1} << 70);
  CHECK_THROWS_AS(samples_of(huge), overflow_error);
}

TEST_CASE("the memory that a sweep takes is at each action at most what is predicted", "[trace]") {
  field const x0(4'096, 0.5), seed(4'096, 1.0);
  for (slot_index const slots : {1, 3, 8, 60}) {
    revolve const plan{60, slots};
    workload const work{.state_bytes = bytes_of(x0), .state_inline_bytes = sizeof(field), .initial_bytes = 0,
                        .adjoint_bytes = bytes_of(seed)};
    auto const predicted = samples_of(memory_over(plan, work));
    memory_samples states;
    states.reserve(predicted.size());
    memory_samples of_heap{heap_meter{}};
    of_heap.reserve(predicted.size());
    auto const own = std::int64_t(predicted.size() * sizeof(memory_sample));
    (void)gradient(step, x0, plan, seed, adjoint, [&](event const& seen) {
      states(seen);
      of_heap(seen);
    });
    REQUIRE(states.samples().size() == predicted.size());
    REQUIRE(of_heap.samples().size() == predicted.size());
    // The adjoint itself is in the frame of the caller.
    CHECK(peak_of(of_heap.samples()) - own + std::int64_t(sizeof(field)) == peak_of(predicted));
    CHECK(peak_of(states.samples()) <= peak_of(predicted));
    CHECK(peak_of(states.samples()) >= std::int64_t(bytes_of(x0)) * std::min<std::int64_t>(slots, 59));
    std::int64_t now = 0;
    for (auto const& at : states.samples()) {
      CHECK((at.begin >= now && at.end >= at.begin));
      now = at.end;
    }
    states.clear();
    CHECK(states.samples().empty());
  }
}

TEST_CASE("the memory of a chain is what its plan predicts, action by action", "[trace][chain]") {
  std::vector<layer> net;
  for (std::size_t k = 0; k < 12; ++k) net.push_back({1'000 + 1'000 * (k * 5 % 4)});
  field const x0(2'000, 0.5);
  auto const seed = [](field const& y) { return field(y.size(), 1.0); };
  auto const work = chain_probe<std::chrono::steady_clock>(net, x0, seed);
  chain_planner planner{work};
  auto const plan = planner.plan(planner.store_all_peak() / 2);
  auto const predicted = samples_of(chain_memory_over(work, plan.actions));
  memory_samples recorder{heap_meter{}};
  recorder.reserve(predicted.size());
  auto const own = std::int64_t(predicted.size() * sizeof(memory_sample));
  (void)chain_gradient(net, x0, plan, seed, recorder);
  REQUIRE(recorder.samples().size() == predicted.size());
  for (std::size_t k = 0; k < predicted.size(); ++k)
    CHECK(std::abs(recorder.samples()[k].bytes - own - predicted[k].bytes) < 2'000);
}

TEST_CASE("a meter that knows only what is held now gives the larger of before and after", "[trace]") {
  std::int64_t held = 0;
  memory_samples recorder{[&] { return held; }};
  auto const grow = [&](double& x) { x *= 0.5, held += 10; };
  auto const shrink = [&](double, double&) { held -= 5; };
  std::vector<std::int64_t> larger;
  std::int64_t before = 0;
  (void)gradient(grow, 1.0, store_all(3), 1.0, shrink, [&](event const& seen) {
    recorder(seen);
    if (seen.moment() == moment::before) before = held;
    else if (seen.what().kind != action_kind::done) larger.push_back(std::max(before, held));
  });
  REQUIRE(recorder.samples().size() == larger.size());
  for (std::size_t k = 0; k < larger.size(); ++k) CHECK(recorder.samples()[k].bytes == larger[k]);
  CHECK(*std::max_element(larger.begin(), larger.end()) == 30);
  CHECK(std::is_sorted(recorder.samples().begin(), recorder.samples().end(),
                       [](auto const& a, auto const& b) { return a.begin < b.begin; }));
}
