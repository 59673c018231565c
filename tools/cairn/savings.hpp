// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file savings.hpp  A table of what evenly spaced checkpoints save.
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <cairn/core/action.hpp>

namespace tool {

/// One row for each number of steps.   \param checkpoints  by default floor(sqrt n)
/// \throws cairn::invalid_plan
[[nodiscard]] std::string savings_table(std::span<cairn::step_index const> lengths,
                                        std::optional<cairn::step_index> checkpoints);

}  // namespace tool
