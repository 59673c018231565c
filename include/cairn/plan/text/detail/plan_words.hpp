// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file plan_words.hpp  A plan in a few words.
#include <string>
#include <cairn/core/action.hpp>
#include <cairn/plan/text/detail/ticks.hpp>

namespace cairn::detail {

[[nodiscard]] inline std::string plural(wide count, char const* noun) {
  return digits_of(count) + " " + noun + (count == 1 ? "" : "s");
}

template <schedule Plan>
[[nodiscard]] std::string plan_words(Plan const& plan) {
  std::string words = plural(wide(plan.steps()), "step") + " within " + plural(wide(plan.slots()), "slot");
  if (tapes_of(plan) > 0) words += " and " + plural(wide(tapes_of(plan)), "tape");
  return with_separators(words);
}

}  // namespace cairn::detail
