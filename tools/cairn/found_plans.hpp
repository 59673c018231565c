#pragma once
/// \file found_plans.hpp  What planning found for a loop: advice, and what memory buys.
#include <string>
#include <vector>
#include <cairn/plan/loop/advise.hpp>
#include <cairn/plan/loop/planned.hpp>

namespace tool {

/// A table of the plans, the cheapest first, the reason for it, and what was left out.
[[nodiscard]] std::string advice_table(cairn::advice const& advice);
/// One JSON object on one line.
[[nodiscard]] std::string advice_json(cairn::advice const& advice);
/// A JSON array of plans on one line.
[[nodiscard]] std::string plans_json(std::vector<cairn::planned> const& plans);

}  // namespace tool
