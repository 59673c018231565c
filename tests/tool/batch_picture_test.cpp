// SPDX-License-Identifier: Apache-2.0
// Memory and time over the size of a batch, logarithmic axes, and words that fit the page.

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <random>
#include <string>
#include <vector>
#include <cairn/core/error.hpp>
#include <cairn/plan/text/action_limits.hpp>
#include "picture/batch.hpp"
#include "picture/memory_axes.hpp"
#include "picture/text_width.hpp"
#include "support/catch.hpp"
#include "support/svg.hpp"

using namespace cairn;
using namespace picture;
using Catch::Matchers::ContainsSubstring;
using Catch::Matchers::EndsWith;
using namespace svg_text;

namespace {

/// Bytes and seconds that grow with the batch, for each series in its own way.
std::vector<batch_series> made(std::size_t series, std::vector<std::int64_t> const& batches) {
  std::vector<batch_series> all;
  for (std::size_t k = 0; k < series; ++k) {
    all.push_back({"series " + std::to_string(k), {}});
    for (std::int64_t const batch : batches)
      all.back().figures.push_back(
          {batch, 1'000'000 * (batch + std::int64_t(k)), 1e-3 * double(k + 1) * double(batch)});
  }
  return all;
}
/// The second plot as a picture of its own.
std::string lower_of(std::string const& svg) { return svg.substr(svg.rfind("<g class=\"x-axis\">")); }

/// A value on a logarithmic axis, and the number at its label.
double log_place(double value, double least, double most) { return std::log(value / least) / std::log(most / least); }
double number_at(std::string const& label) {
  std::string digits = label;
  std::erase(digits, ',');
  double const number = std::strtod(digits.c_str(), nullptr);
  auto const ends = [&](char const* unit) { return label.size() > 3 && label.ends_with(unit); };
  if (ends(" KiB")) return number * 1024;
  if (ends(" MiB")) return number * 1024 * 1024;
  if (ends(" GiB")) return number * 1024 * 1024 * 1024;
  if (ends(" ms")) return number * 1e-3;
  if (ends(" us")) return number * 1e-6;
  return label.ends_with("k") ? number * 1e3 : label.ends_with("M") ? number * 1e6 : number;
}

}  // namespace

TEST_CASE("a batch picture has a dot for each figure where its axes say", "[tool][picture]") {
  std::vector<std::vector<std::int64_t>> const sizes{{4, 5, 8, 16}, {2, 4, 8, 16, 64, 512}};
  for (std::size_t const series : {1u, 2u, 8u})
    for (auto const& batches : sizes) {
      auto const all = made(series, batches);
      auto const svg = batch_svg(all);
      auto const lower = lower_of(svg);
      bool const is_log = batches.back() >= 10 * batches.front();
      double const bottom = bottom_of(svg), most_batch = double(batches.back());
      double const most_bytes = 1e6 * (most_batch + double(series - 1)), least_bytes = 1e6 * double(batches.front());
      double const most_time = 1e-3 * double(series) * most_batch, least_time = 1e-3 * double(batches.front());
      // Logarithmic axes begin at a round number at or before the least value, which the first label names.
      auto const x_labels = labels_of(svg, "x-axis"), y_labels = labels_of(svg, "y-axis"),
                 t_labels = labels_of(lower, "y-axis");
      CHECK((x_labels.back() == "batch, logarithmic") == is_log);
      auto const height = [&](double value, double least, double most, std::string const& first) {
        if (most < 10 * least) return 200 * value / most;
        double const start = number_at(first);
        CHECK(start <= least);
        CHECK(start * 2.51 > least);
        return 200 * log_place(value, start, most);
      };
      auto const upper_marks = marks_of(svg), lower_marks = marks_of(lower);
      double const first_batch = batches.front() == 4 ? 4 : 2;  // round numbers are 1, 2, 5 ...
      for (std::size_t k = 0; k < series; ++k) {
        auto const part = "part-" + std::to_string(k + 1);
        REQUIRE(upper_marks.at(part).size() == batches.size());
        REQUIRE(lower_marks.at(part).size() == batches.size());
        for (std::size_t at = 0; at < batches.size(); ++at) {
          auto const& figure = all[k].figures[at];
          double const batch = double(figure.batch);
          double const x = 96 + 674 * (is_log ? log_place(batch, first_batch, most_batch) : batch / most_batch);
          auto const high = upper_marks.at(part)[at][0].numbers, low = lower_marks.at(part)[at][0].numbers;
          CHECK(std::abs(high[0] - x) < 0.011);
          CHECK(std::abs(low[0] - x) < 0.011);
          CHECK(std::abs(low[1] - (bottom - height(figure.seconds, least_time, most_time, t_labels.front()))) < 0.011);
          CHECK(std::abs(high[1] - (bottom - 264 -
                                    height(double(figure.peak_bytes), least_bytes, most_bytes, y_labels.front()))) <
                0.011);
        }
        CHECK(corners_of(upper_marks.at("line-" + std::to_string(k + 1)).at(0)).size() == batches.size());
      }
      CHECK(x_labels[x_labels.size() - 2] == std::to_string(batches.back()));
    }
}

TEST_CASE("a limit is a line, and without times there is one plot", "[tool][picture]") {
  auto all = made(2, {1, 2, 4});
  auto const svg = batch_svg(all, 8'000'000);
  auto const limit = corners_of(marks_of(svg).at("peak").at(0));
  CHECK(is_at(limit[0].y, bottom_of(svg) - 264 - 200));  // above all figures
  CHECK_THAT(svg, ContainsSubstring("limit 7.63 MiB"));
  CHECK_THAT(svg, ContainsSubstring("series 1, batch 4: 4.77 MiB, 8 ms."));
  for (auto& one : all)
    for (auto& at : one.figures) at.seconds = 0;
  auto const untimed = batch_svg(all, 0, "<&>");
  CHECK(untimed.find("<g class=\"x-axis\">") == untimed.rfind("<g class=\"x-axis\">"));
  CHECK_THAT(untimed, ContainsSubstring("<title>&lt;&amp;&gt;</title>"));
  CHECK_THAT(batch_svg({{"none", {}}}), ContainsSubstring("no figure"));
}

TEST_CASE("batches that cannot be drawn are refused", "[tool][picture]") {
  CHECK_THROWS_WITH(batch_svg({}), ContainsSubstring("1 to 8"));
  CHECK_THROWS_AS(batch_svg(made(9, {1})), invalid_plan);
  CHECK_THROWS_AS(batch_svg(made(1, {1}), -1), invalid_plan);
  CHECK_THROWS_WITH(batch_svg(made(2, {4, 4})), ContainsSubstring("batch = 4, before it = 4"));
  CHECK_THROWS_AS(batch_svg(made(1, {0, 1})), invalid_plan);
  for (double const wrong : {-1.0, std::numeric_limits<double>::infinity(), std::numeric_limits<double>::quiet_NaN()})
    CHECK_THROWS_AS(batch_svg({{"a", {{1, 10, wrong}}}}), invalid_plan);
  CHECK_THROWS_AS(batch_svg({{"a", {{1, -10, 0}}}}), invalid_plan);
}

TEST_CASE("logarithms in whole numbers are those of floating point", "[tool][picture]") {
  std::mt19937_64 random{7};
  for (int k = 0; k < 20'000; ++k) {
    std::uint64_t const value = (random() >> (random() % 63)) | 1;
    double const exact = std::log2(double(value)) * double(1 << 24);
    CHECK(std::abs(double(picture::log2_of(value)) - exact) <= 1.1);
  }
  CHECK(picture::log2_of(1) == 0);
  CHECK(picture::log2_of(wide{1} << 127) == std::int64_t{127} << 24);
  CHECK(picture::log2_of(~wide{0}) < std::int64_t{128} << 24);
}

TEST_CASE("round numbers of a logarithmic axis begin at or before its values, and are few", "[tool][picture]") {
  using picture::quantity;
  for (auto const of : {quantity::count, quantity::bytes, quantity::time})
    for (wide const least : {wide{1}, wide{3}, wide{999}, wide{1} << 40, wide{1} << 90})
      for (wide const times : {wide{10}, wide{1'000}, wide{1} << 36})
        for (std::size_t const count : {1u, 2u, 5u, 10u}) {
          auto const all = picture::round_numbers(least, least * times, of, count);
          REQUIRE_FALSE(all.empty());
          CHECK(all.front() <= least);
          CHECK(all.back() <= least * times);
          CHECK((all.size() <= count || count == 1));
          CHECK(std::is_sorted(all.begin(), all.end()));
        }
  auto const numbers = picture::round_numbers(3, 800, quantity::count, 20);
  CHECK(numbers == std::vector<wide>{2, 5, 10, 20, 50, 100, 200, 500});
  CHECK(picture::round_numbers(3'000, 70'000, quantity::bytes, 4) == std::vector<wide>{1'024, 4'096, 16'384, 65'536});
  CHECK(picture::amount_text(65'536, quantity::bytes) == "64 KiB");
  CHECK(picture::amount_text(7'813, quantity::bytes) == "7.63 KiB");
  CHECK(picture::amount_text(781'300, quantity::bytes) == "763 KiB");
  CHECK(picture::amount_text(20'000'000'000, quantity::time) == "20 ms");
  CHECK(picture::amount_text(5'000'000'000'000'000, quantity::time) == "5,000 s");
  CHECK(picture::amount_text(5'000, quantity::count) == "5k");
}

TEST_CASE("words are wrapped and cut to the width of the page", "[tool][picture]") {
  using namespace cairn::detail;
  CHECK(width_of("") == 0);
  CHECK(width_of("iiii") < width_of("mmmm"));
  CHECK(width_of("w", heading_letters) > width_of("w") * 4 / 3);
  CHECK(width_of("\xC3\xA9") == 1'200);  // not in the table
  std::string text;
  for (int k = 0; k < 60; ++k) text += (k == 0 ? "" : " ") + std::string("word") + std::to_string(k);
  for (hundredths const most : {8'000, 30'000, 71'000})
    for (std::size_t const count : {1u, 2u, 3u, 100u}) {
      auto const lines = fitted_lines(text, most, count);
      CHECK(lines.size() <= count);
      std::string again;
      for (auto const& line : lines) {
        CHECK(width_of(line) <= most);
        again += (again.empty() ? "" : " ") + line;
      }
      bool const whole = again == text;
      CHECK((whole || (lines.size() == count && again.ends_with("\xE2\x80\xA6"))));
      if (count == 100) CHECK(whole);
    }
  CHECK(fitted_lines("", 1'000, 3).empty());
  CHECK_THAT(fitted_lines(std::string(500, 'w'), 20'000, 3).at(0), EndsWith("\xE2\x80\xA6"));
  CHECK(fitted("short", 71'000) == "short");
}
