// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file slowdown.hpp  The fewest slots for a given slow-down, in words.
#include <string>
#include <cairn/core/action.hpp>

namespace tool {

/// \throws cairn::invalid_plan   for a slow-down that no number of slots can reach
[[nodiscard]] std::string slots_text(cairn::step_index steps, double slowdown);

}  // namespace tool
