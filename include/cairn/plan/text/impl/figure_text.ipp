// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <string>
#include <cairn/core/bytes.hpp>
#include <cairn/plan/text/detail/plan_words.hpp>
#include <cairn/plan/text/detail/quantities.hpp>
#include <cairn/plan/text/detail/ticks.hpp>
#include <cairn/plan/text/figure_text.hpp>

namespace cairn {

CAIRN_DECL std::string percent_text(double share) {
  // From each limit on, rounding to so few digits would carry into one more digit.
  if (!(share >= 9.995 && share <= 1e15)) return detail::number_text(100 * share, share >= 0.995 ? 3 : 2) + " %";
  return detail::digits_of(wide(100 * share + 0.5)) + " %";
}

CAIRN_DECL std::string exact_bytes_text(std::int64_t bytes) {
  std::string const exact = detail::plural(wide(bytes), "byte");
  return bytes < 1024 ? exact : exact + " (" + detail::bytes_text(wide(bytes)) + ")";
}

}  // namespace cairn
