// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file pareto_text.hpp  Time over memory for many plans, as a table, as CSV and as a picture.
#include <string>
#include <string_view>
#include <vector>
#include <cairn/detail/linkage.hpp>
#include <cairn/plan/loop/planned.hpp>
#include <cairn/plan/text/breakdown.hpp>

namespace cairn {

/// One line per plan: bytes, seconds, step_calls, least_step_calls, schedule, slots, far_bytes, leaf, period, units.
/// Exact numbers; slots count the initial state.
[[nodiscard]] CAIRN_DECL std::string pareto_csv(std::vector<planned> const& front);

/// A table for people: memory, time, step calls per step of the loop, and the plan. Slots count the initial state.
[[nodiscard]] CAIRN_DECL std::string pareto_text(std::vector<planned> const& front);

/// Time over memory as an SVG; step calls over memory if times are unknown. An axis is logarithmic if its largest value
/// is at least ten times its smallest one.
/// \param title  title of the picture; by default it says what is shown
[[nodiscard]] CAIRN_DECL std::string pareto_svg(std::vector<planned> const& front, std::string_view title = {});

/// What the memory of each plan is spent on: states, adjoints, tapes, tables, and the caller's initial state. The sum
/// of a row is `cost.memory_bytes`. For `breakdown_svg`.   \throws overflow_error   beyond 2^63 - 1 bytes
[[nodiscard]] CAIRN_DECL breakdown pareto_breakdown(std::vector<planned> const& front);

}  // namespace cairn

#ifndef CAIRN_SEPARATE_COMPILATION
#include <cairn/plan/text/impl/pareto_text.ipp>
#endif
