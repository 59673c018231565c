// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file quantities.hpp  Numbers and counts as text; independent of compiler and locale.
#include <charconv>
#include <string>
#include <cairn/core/bytes.hpp>
#include <cairn/core/detail/text.hpp>
#include <cairn/core/wide.hpp>

namespace cairn::detail {

/// The fewest digits that read back as the same number.
[[nodiscard]] inline std::string exact_text(double value) {
  char text[64];
  auto const end = std::to_chars(text, text + sizeof text, value);
  return {text, end.ptr};
}
[[nodiscard]] inline std::string digits_of(wide number) { return text<40>{}.add(number).c_str(); }
[[nodiscard]] inline std::string plural(wide count, char const* noun) {
  return digits_of(count) + " " + noun + (count == 1 ? "" : "s");
}
[[nodiscard]] inline std::string bytes_text(wide bytes) { return to_short_text(bytes).c_str(); }

}  // namespace cairn::detail
