// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file pareto_text.hpp  Time over memory for many plans, as a table and as CSV.
#include <string>
#include <vector>
#include <cairn/detail/linkage.hpp>
#include <cairn/plan/loop/planned.hpp>

namespace cairn {

/// One line per plan: bytes, seconds, step_calls, least_step_calls, schedule, slots, far_bytes, leaf, period, units.
/// Exact numbers; slots count the initial state.
[[nodiscard]] CAIRN_DECL std::string pareto_csv(std::vector<planned> const& front);

/// A table for people: memory, time, step calls per step of the loop, and the plan. Slots count the initial state.
[[nodiscard]] CAIRN_DECL std::string pareto_text(std::vector<planned> const& front);

}  // namespace cairn

#ifndef CAIRN_SEPARATE_COMPILATION
#include <cairn/plan/text/impl/pareto_text.ipp>
#endif
