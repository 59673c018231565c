// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file leaf_in_parts.hpp  A leaf with terms at states inside it is reversed in parts, from one such state to the next.
#include <type_traits>
#include <utility>
#include <vector>
#include <cairn/core/bytes_of.hpp>
#include <cairn/core/detail/executor_bytes.hpp>
#include <cairn/core/state_traits.hpp>
#include <cairn/run/detail/advanced_copy.hpp>
#include <cairn/run/detail/come_back.hpp>
#include <cairn/run/detail/loop_adjoint.hpp>

namespace cairn::detail {

/// The states where parts begin are made by the step, which runs from the leaf's first state to the last of them once
/// more.
template <class State, class Adjoint, class Bar>
void reverse_in_parts(Adjoint const& whole, lent_state<State> x, Bar& bar, step_index const first, step_index last) {
  using cut = part_begin<State>;
  auto& loop = whole.loop;
  using step_type = std::remove_reference_t<decltype(loop.step)>;
  step_index count = 0;
  for (step_index i = loop.terms.next_after(first); i < last; i = loop.terms.next_after(i)) ++count;
  std::vector<cut> cuts;
  cuts.reserve(std::size_t(count));
  wide held = wide(cuts.capacity()) * sizeof(cut);
  auto const each = [&](auto const& run_to, auto const& now) {
    for (step_index from = first, at; (at = loop.terms.next_after(from)) < last; from = at) {
      run_to(from, at);
      cuts.push_back({at, now()});
      held += heap_if_known(cuts.back().state);
    }
    loop.terms.held(held, cuts.back().at - first);
  };
  step_index failed = first;
  if constexpr (copied_state<State>) {
    advanced_copy<State> live{x, step_type::given.form};
    held += parts_copies<step_type> * (heap_if_known(std::as_const(x)) + sizeof(State) + bytes_a_frame);
    each([&](step_index from, step_index to) { live.run(loop.step, from, to, failed); },
         [&] { return copy_of(std::as_const(live).state()); });
    for (; !cuts.empty(); cuts.pop_back()) {
      whole.back(cuts.back().state, nullptr, bar, cuts.back().at, last, held);
      last = cuts.back().at;
    }
  } else {
    auto const before = taken_snapshot(std::as_const(x));
    held += heap_if_known(before);
    each([&](step_index from, step_index to) { run_in_place(loop.step, x, from, to, failed); },
         [&] { return taken_snapshot(std::as_const(x)); });
    for (; !cuts.empty(); cuts.pop_back()) {
      restore_state(x, cuts.back().state);
      whole.back(x, nullptr, bar, cuts.back().at, last, held);
      last = cuts.back().at;
    }
    restore_state(x, before);
  }
  whole.back(x, nullptr, bar, first, last, held);
}

}  // namespace cairn::detail
