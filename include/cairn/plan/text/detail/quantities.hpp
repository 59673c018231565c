// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file quantities.hpp  Numbers as text for people and for tables; independent of compiler and locale.
#include <charconv>
#include <string>
#include <cairn/core/bytes.hpp>
#include <cairn/plan/text/detail/ticks.hpp>

namespace cairn::detail {

/// A number with at most `digits` significant digits, but with all of those before the point up to 10^15: "0.0123",
/// "50000", "1.5e+18".
[[nodiscard]] inline std::string number_text(double value, int digits = 4) {
  char text[64];
  bool const whole = value >= 1e3 && value < 1e15;
  auto const end = std::to_chars(text, text + sizeof text, value,
                                 whole ? std::chars_format::fixed : std::chars_format::general, whole ? 0 : digits);
  return {text, end.ptr};
}
/// The fewest digits that read back as the same number.
[[nodiscard]] inline std::string exact_text(double value) {
  char text[64];
  auto const end = std::to_chars(text, text + sizeof text, value);
  return {text, end.ptr};
}
/// "1.82 s", "310 us", "4.2 h".
[[nodiscard]] inline std::string seconds_text(double seconds) {
  struct unit { double size; char const* name; };
  constexpr unit units[] = {{86400, " days"}, {3600, " h"}, {60, " min"}, {1, " s"}, {1e-3, " ms"}, {1e-6, " us"}};
  for (unit const& in : units)
    if (seconds >= in.size * (in.size > 1 ? 2 : 1)) return number_text(seconds / in.size, 3) + in.name;
  return seconds > 0 ? number_text(seconds * 1e9, 3) + " ns" : "0 s";
}
[[nodiscard]] inline std::string bytes_text(wide bytes) { return to_short_text(bytes).c_str(); }

}  // namespace cairn::detail
