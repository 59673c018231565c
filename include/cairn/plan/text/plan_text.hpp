#pragma once
/// \file plan_text.hpp  Plans, advice and what stands in their way, in sentences.
#include <string>
#include <cairn/detail/linkage.hpp>
#include <cairn/plan/loop/advise.hpp>
#include <cairn/plan/loop/explain.hpp>
#include <cairn/plan/loop/planned.hpp>
#include <cairn/plan/loop/why_infeasible.hpp>

namespace cairn {
/// What the numbers in all these texts, and in those of the command `cairn`, mean by a slot.
inline constexpr char const* slots_note = "Slots count the initial state.";

/// "revolve with 16 slots in memory: 4.86 s and 2861 step calls in 1.81 MiB".
[[nodiscard]] CAIRN_DECL std::string plan_text(planned const& plan);

/// Why the advised plan is the one to take, in a sentence.
[[nodiscard]] CAIRN_DECL std::string reason_text(advice const& given);

/// The advice in full: the plan, the reason, the others, and the planners that have none.
[[nodiscard]] CAIRN_DECL std::string advice_text(advice const& given);

/// What the plan's memory buys: its gap, and what half and twice as much would do.
[[nodiscard]] CAIRN_DECL std::string explanation_text(explanation const& of);

/// What the least feasible budget is, and what it is for.
[[nodiscard]] CAIRN_DECL std::string infeasibility_text(infeasibility const& of);

}  // namespace cairn

#ifndef CAIRN_SEPARATE_COMPILATION
#include <cairn/plan/text/impl/plan_text.ipp>
#endif
