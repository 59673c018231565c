// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file found_plans.hpp  The results of planning for a loop: advice, and plans over all budgets.
#include <string>
#include <vector>
#include <cairn/plan/loop/advise.hpp>
#include <cairn/plan/loop/planned.hpp>

namespace tool {

/// A table of the plans, the cheapest first, the reason for the choice, and the planners without a plan.
[[nodiscard]] std::string advice_table(cairn::advice const& advice);
/// The advice as one JSON object on one line.
[[nodiscard]] std::string advice_json(cairn::advice const& advice);
/// A JSON array of plans on one line.
[[nodiscard]] std::string plans_json(std::vector<cairn::planned> const& plans);

}  // namespace tool
