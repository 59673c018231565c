// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file plan_with_files.hpp  The plan of a budget with a folder, for a loop whose sizes were measured.
#include <utility>
#include <cairn/core/bytes_of.hpp>
#include <cairn/core/state_traits.hpp>
#include <cairn/core/sweep_bytes.hpp>
#include <cairn/core/workload.hpp>
#include <cairn/run/detail/plan_place.hpp>

namespace cairn::detail {

/// \param work  the largest sizes; its tape is that of a whole leaf   \param others  bytes beside the sweep's
/// \param leaf  steps that one adjoint call reverses   \throws infeasible_budget
template <class Budget, class State>
[[nodiscard]] auto plan_with_files(Budget const& budget, State const& x0, workload const& work, wide others = 0,
                                   step_index leaf = 1) {
  sweep_sizes const sizes{work.state_bytes,   work.state_inline_bytes, work.initial_bytes.value_or(work.state_bytes),
                          work.adjoint_bytes, work.tape_bytes,         work.tape_inline_bytes};
  auto const bytes = [&](auto const& plan, slot_index slots) {
    return bytes_with(plan, slots, work.form, sizes, work.verify) + others;
  };
  wide const first = [&] {
    if constexpr (copied_state<State>) return bytes_of(x0);
    else return bytes_of(save_state(x0));
  }();
  wide const grown = work.state_bytes > first ? work.state_bytes - first : 0;
  return Budget::files::plan_for(budget, x0, work.form, bytes, grown, leaf);
}

}  // namespace cairn::detail
