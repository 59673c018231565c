// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file progress_words.hpp  Lines of progress, made without the heap, so that the allocations of a sweep can be
/// counted while they are shown.
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <string_view>
#include <cairn/core/bytes.hpp>
#include <cairn/core/detail/text.hpp>
#include <cairn/core/wide.hpp>
#include <cairn/plan/text/action_words.hpp>

namespace cairn::detail {

inline constexpr std::int64_t look_every = 10'000'000, report_every = 100'000'000, log_every = 5'000'000'000;
inline constexpr std::uint64_t longest_stride = 256;  // this many steps may pass before a slowdown is noticed
inline constexpr int widest_line = 79;

/// One line, written from its start; what does not fit is cut.
class progress_line {
 public:
  progress_line& add(std::string_view words) {
    for (char const c : words) text_.put(c);
    return *this;
  }
  /// "12,345".
  progress_line& add_grouped(wide number) {
    text<40> const digits = text<40>{}.add(number);
    for (std::size_t k = 0; k < digits.size(); ++k) {
      if (k > 0 && (digits.size() - k) % 3 == 0) text_.put(',');
      text_.put(digits.c_str()[k]);
    }
    return *this;
  }
  progress_line& add_decimals(double value, int places) {
    char digits[64];
    std::snprintf(digits, sizeof digits, "%.*f", places, value);
    return add(digits);
  }
  /// "81.2 k/s", three digits.
  progress_line& add_rate(double per_second) {
    static constexpr char const* prefixes[] = {"", "k", "M", "G", "T"};
    std::size_t power = 0;
    for (; power + 1 < sizeof prefixes / sizeof *prefixes && per_second >= 999.5; ++power) per_second /= 1000;
    add_decimals(per_second, per_second >= 99.95 ? 0 : per_second >= 9.995 ? 1 : 2);
    return add(" ").add(prefixes[power]).add("/s");
  }
  /// "3.4 s", "12 min 5 s", "2 h 3 min".
  progress_line& add_duration(double seconds) {
    if (seconds < 59.95) return add_decimals(seconds, 1).add(" s");
    if (!(seconds < 1e15)) return add("for ever");
    auto const whole = std::uint64_t(seconds + 0.5);
    if (whole < 3600) return add_grouped(whole / 60).add(" min ").add_grouped(whole % 60).add(" s");
    return add_grouped(whole / 3600).add(" h ").add_grouped(whole / 60 % 60).add(" min");
  }
  progress_line& add_bytes(std::size_t bytes) { return add(to_short_text(wide(bytes)).c_str()); }
  [[nodiscard]] char const* c_str() const noexcept { return text_.c_str(); }

 private:
  text<240> text_;
};

/// The line of a `progress_report`.
template <class Report>
[[nodiscard]] progress_line line_of(Report const& report) {
  progress_line line;
  if (report.sweeps != 1 || report.sweep > 1) {
    line.add(report.name.empty() ? "sweep" : report.name).add(" ").add_grouped(wide(report.sweep));
    if (report.sweeps >= report.sweep) line.add("/").add_grouped(wide(report.sweeps));
    line.add(" ");
  } else if (!report.name.empty()) {
    line.add(report.name).add(" ");
  }
  line.add(report.ended ? std::string_view{"done"} : word_of(report.phase)).add(" ");
  bool const shared = report.total && !report.ended;
  if (shared) line.add_decimals(100 * report.share(), 1).add(" % ");
  line.add_grouped(report.done.steps());
  if (shared) line.add("/").add_grouped(report.total->steps());
  line.add(" steps ");
  if (report.steps_per_second > 0) line.add_rate(report.steps_per_second).add(" ");
  if (report.ended) line.add("in ").add_duration(report.seconds).add(" ");
  else if (report.seconds_left) line.add_duration(*report.seconds_left).add(" left ");
  return line.add_bytes(report.bytes_held).add(" ").add(word_of(report.where));
}

}  // namespace cairn::detail
