// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <charconv>
#include <cairn/plan/text/detail/quantities.hpp>
#include <cairn/plan/text/figure_text.hpp>

namespace cairn {

CAIRN_DECL std::string number_text(double value, int digits) {
  char text[64];
  bool const whole = value >= 1e3 && value < 1e15;
  auto const end = std::to_chars(text, text + sizeof text, value,
                                 whole ? std::chars_format::fixed : std::chars_format::general, whole ? 0 : digits);
  return {text, end.ptr};
}

CAIRN_DECL std::string seconds_text(double seconds) {
  struct unit { double size; char const* name; };
  constexpr unit units[] = {{86400, " days"}, {3600, " h"}, {60, " min"}, {1, " s"}, {1e-3, " ms"}, {1e-6, " us"}};
  for (unit const& in : units)
    if (seconds >= in.size * (in.size > 1 ? 2 : 1)) return number_text(seconds / in.size, 3) + in.name;
  return seconds > 0 ? number_text(seconds * 1e9, 3) + " ns" : "0 s";
}

CAIRN_DECL std::string percent_text(double share) {
  // From each limit on, rounding to so few digits would carry into one more digit.
  if (!(share >= 9.995 && share <= 1e15)) return number_text(100 * share, share >= 0.995 ? 3 : 2) + " %";
  return detail::digits_of(wide(100 * share + 0.5)) + " %";
}

CAIRN_DECL std::string exact_bytes_text(std::int64_t bytes) {
  std::string const exact = detail::plural(wide(bytes), "byte");
  return bytes < 1024 ? exact : exact + " (" + detail::bytes_text(wide(bytes)) + ")";
}

}  // namespace cairn
