// SPDX-License-Identifier: Apache-2.0
// The picture of several curves of memory.

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>
#include <cairn/cairn.hpp>
#include "picture/memory_lines.hpp"
#include "support/catch.hpp"
#include "support/svg.hpp"

using namespace cairn;
using namespace picture;
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
}  // namespace

TEST_CASE("each curve of a picture shows its samples, over their numbers and over time", "[tool][picture]") {
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
        most = std::max(most, double(peak_of(line)));
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

TEST_CASE("a gap between samples keeps the level, and a sample without duration shows as a peak", "[tool][picture]") {
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

TEST_CASE("a prediction is an area, and the others say how far they are from its peak", "[tool][picture]") {
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

TEST_CASE("samples that cannot be drawn are refused", "[tool][picture]") {
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

