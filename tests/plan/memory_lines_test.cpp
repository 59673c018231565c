// SPDX-License-Identifier: Apache-2.0
// Predicted beside measured memory: what observers record, and the picture of several curves.
#include <cairn/plan/text/memory_lines.hpp>
#include <cairn/trace/memory_samples.hpp>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>
#include <cairn/cairn.hpp>
#include <cairn/chains.hpp>
#include <cairn/plan/text/chain_svg.hpp>
#include <cairn/plan/text/memory_curve.hpp>
#include "support/catch.hpp"
#include "support/heap.hpp"
#include "support/svg.hpp"

using namespace cairn;
using Catch::Matchers::ContainsSubstring;
using namespace svg_text;

namespace {

/// Samples of lengths, gaps and sizes of their own.
memory_line made(std::string name, std::size_t count, std::int64_t scale) {
  memory_line line{std::move(name), {}};
  std::int64_t now = 0;
  for (std::size_t k = 0; k < count; ++k) {
    std::int64_t const begin = now + std::int64_t(k % 3) * 1'000'000, end = begin + std::int64_t(k % 4) * 5'000'000;
    line.samples.push_back({begin, end, scale * std::int64_t((k * 7) % 11)});
    now = end;
  }
  return line;
}
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

TEST_CASE("each curve of a picture shows its samples, over their numbers and over time", "[plan][picture]") {
  for (std::size_t const lines : {1u, 2u, 8u})
    for (bool const over_time : {false, true}) {
      std::vector<memory_line> all;
      for (std::size_t k = 0; k < lines; ++k)
        all.push_back(made("line " + std::to_string(k), 20 + 13 * k, std::int64_t(100'000 * (k + 1))));
      auto const svg = memory_lines_svg(all, {.over_time = over_time, .across = "rank"});
      auto const marks = marks_of(svg);
      CHECK(marks.size() == lines);
      double longest = 0, most = 0;
      for (auto const& line : all) {
        most = std::max(most, double(peak_of(line.samples)));
        longest = std::max(longest, over_time ? double(line.samples.back().end) : double(line.samples.size()));
      }
      bool good = true;
      for (std::size_t k = 0; k < lines; ++k) {
        auto const path = corners_of(marks.at("line-" + std::to_string(k + 1)).at(0));
        for (std::size_t at = 0; at < all[k].samples.size(); ++at) {
          auto const& sample = all[k].samples[at];
          if (over_time && sample.begin == sample.end) continue;
          double const middle = over_time ? double(sample.begin + sample.end) / 2 : double(at) + 0.5;
          good = good && is_at(height_at(path, across(middle, longest)),
                               bottom_of(svg) - 320 * double(sample.bytes) / most);
        }
        good = good && is_at(path.back().x, across(over_time ? double(all[k].samples.back().end)
                                                             : double(all[k].samples.size()),
                                                   longest));
      }
      CHECK(good);
      auto const x = labels_of(svg, "x-axis"), y = labels_of(svg, "y-axis");
      CHECK(x.front() == "0");
      CHECK(x.back() == (over_time ? "time (ms)" : "rank"));
      if (!over_time) CHECK(x[x.size() - 2] == std::to_string(20 + 13 * (lines - 1)));
      CHECK_THAT(y.back(), ContainsSubstring("memory ("));
    }
}

TEST_CASE("a gap between samples keeps the level, and a sample without duration shows as a peak", "[plan][picture]") {
  memory_line const line{"run", {{0, 10'000, 1'000}, {20'000, 20'000, 4'000}, {30'000, 40'000, 2'000}}};
  auto const svg = memory_lines_svg({line}, {.over_time = true});
  auto const path = corners_of(marks_of(svg).at("line-1").at(0));
  auto const level = [&](double microseconds) {
    return (bottom_of(svg) - height_at(path, across(microseconds, 40))) / 320 * 4'000;
  };
  CHECK(std::abs(level(5) - 1'000) < 1);
  CHECK(std::abs(level(15) - 1'000) < 1);
  CHECK(std::abs(level(35) - 2'000) < 1);
  CHECK(std::any_of(path.begin(), path.end(), [&](corner const& at) { return is_at(at.y, bottom_of(svg) - 320); }));
}

TEST_CASE("a prediction is an area, and the others say how far they are from its peak", "[plan][picture]") {
  auto const told = [](std::int64_t expected, std::int64_t found) {
    auto const svg = memory_lines_svg({{"plan", {{0, 1, expected}}}, {"run", {{0, 1, found}}}},
                                      {.first_is_predicted = true});
    CHECK(marks_of(svg).count("kept") == 1);
    return between(svg, "class=\"note\" x=\"80\" y=\"47\">", "<");
  };
  CHECK(told(1'000, 1'020) == "run: peak 2 % above the predicted one");
  CHECK(told(1'000, 400) == "run: peak 60 % below the predicted one");
  CHECK(told(7, 7) == "run: peak as predicted");
  CHECK(told(0, 7) == "run: peak above a predicted one of 0");
  auto const plain = memory_lines_svg({{"a", {{0, 1, 3}}}, {"b", {{0, 1, 2'048}}}});
  CHECK(marks_of(plain).count("kept") == 0);
  CHECK_THAT(plain, ContainsSubstring(">b, peak 2.00 KiB<"));
  CHECK_THAT(memory_lines_svg({{"none", {}}}), ContainsSubstring("none, peak 0 B"));
}

TEST_CASE("samples that cannot be drawn are refused", "[plan][picture]") {
  CHECK_THROWS_WITH(memory_lines_svg({}), ContainsSubstring("1 to 8"));
  CHECK_THROWS_AS(memory_lines_svg(std::vector<memory_line>(9)), invalid_plan);
  CHECK_THROWS_WITH(memory_lines_svg({{"a", {{0, 1, -1}}}}), ContainsSubstring("line = 0, sample = 0"));
  memory_line const crossed{"a", {{0, 5, 1}, {4, 6, 1}}}, backwards{"a", {{3, 2, 1}}};
  CHECK_THROWS_WITH(memory_lines_svg({crossed}, {.over_time = true}), ContainsSubstring("sample = 1, begin = 4"));
  CHECK_THROWS_AS(memory_lines_svg({backwards}, {.over_time = true}), invalid_plan);
  CHECK_NOTHROW(memory_lines_svg({crossed, backwards}));
  memory_line const lengthy{"a", std::vector<memory_sample>(most_drawn_actions + 1)};
  CHECK_THROWS_WITH(memory_lines_svg({lengthy}), ContainsSubstring("too many numbers for a picture"));
}

TEST_CASE("a loop's curve as samples has its numbers", "[plan][picture]") {
  auto const curve = memory_over(revolve{20, 3}, {.state_bytes = 1'000, .adjoint_bytes = 8});
  auto const samples = samples_of(curve);
  REQUIRE(samples.size() == curve.held.size());
  for (std::size_t k = 0; k < samples.size(); ++k)
    CHECK(samples[k] == memory_sample{std::int64_t(k), std::int64_t(k) + 1, std::int64_t(curve.held[k])});
  memory_curve huge;
  huge.held.push_back(huge.peak = wide{1} << 70);
  CHECK_THROWS_AS(samples_of(huge), overflow_error);
}

TEST_CASE("the memory that a sweep takes is at each action at most what is predicted", "[trace][picture]") {
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

TEST_CASE("the memory of a chain is what its plan predicts, action by action", "[trace][chain][picture]") {
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
