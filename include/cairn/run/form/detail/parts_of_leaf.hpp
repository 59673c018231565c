// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file parts_of_leaf.hpp  A leaf with terms at states inside it is reversed in parts, from one such state to the next.
#include <type_traits>
#include <utility>
#include <vector>
#include <cairn/core/state_traits.hpp>
#include <cairn/rules/frames_needed.hpp>
#include <cairn/run/form/detail/loop_adjoint.hpp>
#include <cairn/run/form/detail/losses.hpp>
#include <cairn/run/sweep/detail/advanced_copy.hpp>
#include <cairn/run/sweep/detail/call.hpp>

namespace cairn::detail {

/// The states there are made by the step, which runs from the leaf's first state to the last of them once more.
/// \tparam Copies  of states in an `advanced_copy`
template <class State, class Bar, wide Copies, class Adjoint>
void reverse_in_parts(Adjoint const& adjoint, lent_state<State> x, Bar& bar, step_index const first, step_index last) {
  auto& terms = adjoint.loop.terms;
  using step_type = std::remove_reference_t<decltype(adjoint.loop.step)>;
  step_index count = 0;
  for (step_index i = terms.next_after(first); i < last; i = terms.next_after(i)) ++count;
  std::vector<state_in_leaf<State>> cuts;
  cuts.reserve(std::size_t(count));
  wide held = wide(cuts.capacity()) * sizeof(state_in_leaf<State>);
  auto const each = [&](wide making, auto const& run_to, auto const& now) {
    for (step_index from = first, at; (at = terms.next_after(from)) < last; from = at) {
      run_to(from, at);
      cuts.push_back({at, now()});
      held += heap_if_known(cuts.back().state);
    }
    terms.held(held + making, cuts.back().at - first);
  };
  auto const back_to = [&](auto&& at_cut) {
    adjoint.back(at_cut, nullptr, bar, cuts.back().at, last, held);
    last = cuts.back().at;
    held -= heap_if_known(cuts.back().state);
  };
  step_index failed = first;
  if constexpr (copied_state<State>) {
    {
      advanced_copy<State> live{x, step_type::given.form};
      each(Copies * (heap_if_known(std::as_const(x)) + sizeof(State) + bytes_a_frame),
           [&](step_index from, step_index to) { live.run(adjoint.loop.step, from, to, failed); },
           [&] { return copy_of(std::as_const(live).state()); });
    }
    for (; !cuts.empty(); cuts.pop_back()) back_to(cuts.back().state);
  } else {
    auto const before = taken_snapshot(std::as_const(x));
    held += heap_if_known(before);
    each(0, [&](step_index from, step_index to) { run_in_place(adjoint.loop.step, x, from, to, failed); },
         [&] { return taken_snapshot(std::as_const(x)); });
    for (; !cuts.empty(); cuts.pop_back()) {
      restore_state(x, cuts.back().state);
      back_to(x);
    }
    restore_state(x, before);
  }
  adjoint.back(x, nullptr, bar, first, last, held);
}

}  // namespace cairn::detail
