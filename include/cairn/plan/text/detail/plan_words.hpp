// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file plan_words.hpp  Counts in words.
#include <string>
#include <cairn/core/detail/text.hpp>
#include <cairn/core/wide.hpp>

namespace cairn::detail {

[[nodiscard]] inline std::string digits_of(wide number) { return text<40>{}.add(number).c_str(); }

[[nodiscard]] inline std::string plural(wide count, char const* noun) {
  return digits_of(count) + " " + noun + (count == 1 ? "" : "s");
}

}  // namespace cairn::detail
