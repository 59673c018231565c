// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file plan_text.hpp  Plans, advice and infeasible budgets, in sentences.
#include <string>
#include <cairn/detail/linkage.hpp>
#include <cairn/plan/loop/advise.hpp>
#include <cairn/plan/loop/explain.hpp>
#include <cairn/plan/loop/planned.hpp>
#include <cairn/plan/loop/why_infeasible.hpp>

namespace cairn {
/// The convention for numbers of slots in all these texts, and in those of the command `cairn`.
inline constexpr char const* slots_note = "Slots count the initial state.";

/// One line such as "revolve with 16 slots in memory: 4.86 s and 2861 step calls in 1.81 MiB".
[[nodiscard]] CAIRN_DECL std::string plan_text(planned const& plan);

/// The distance of the plan from the lower bound within the same memory, in one sentence.
[[nodiscard]] CAIRN_DECL std::string gap_text(planned const& plan);

/// Why the advised plan is the best choice, in one sentence.
[[nodiscard]] CAIRN_DECL std::string reason_text(advice const& given);

/// The advice in full: the plan, the reason, the alternatives, and the planners without a plan.
[[nodiscard]] CAIRN_DECL std::string advice_text(advice const& given);

/// What the plan's memory achieves: its gap, and what half and twice as much memory would achieve.
[[nodiscard]] CAIRN_DECL std::string explanation_text(explanation const& of);

/// The least feasible budget, and what needs it.
[[nodiscard]] CAIRN_DECL std::string infeasibility_text(infeasibility const& of);

}  // namespace cairn

#ifndef CAIRN_SEPARATE_COMPILATION
#include <cairn/plan/text/impl/plan_text.ipp>
#endif
