// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file stored_states.hpp  Stored states in the order in which a replanned sweep needs them, and the slots between
/// them.
#include <cstddef>
#include <cstdint>
#include <utility>
#include <cairn/core/action.hpp>
#include <cairn/core/detail/lesser.hpp>
#include <cairn/core/detail/table.hpp>
#include <cairn/core/error.hpp>
#include <cairn/schedule/position.hpp>

namespace cairn::detail {

/// \throws invalid_plan   unless a sweep can have stopped there
constexpr void check_stop(stopped_sweep const& sweep) {
  bool const possible =
      sweep.steps >= 0 && sweep.slots >= 0 && sweep.leaf >= 1 && sweep.open >= 0 && sweep.open <= sweep.steps;
  if (possible && (sweep.open == sweep.steps || (sweep.turned && sweep.open % sweep.leaf == 0))) return;
  throw invalid_plan{"cairn::remaining", "a sweep cannot have stopped there",
                     {{"steps", sweep.steps}, {"open steps", sweep.open}, {"slots", sweep.slots}, {"leaf", sweep.leaf}},
                     "all steps are open before the turn, and whole leaves after it"};
}

/// Shell's sort with Knuth's gaps, O(n^1.5): there are few stored states, and headers of the core do not include
/// `<algorithm>`.
template <class T, class Before>
constexpr void sort(table<T>& values, Before before) noexcept {
  std::size_t stride = 1;
  while (stride < values.size() / 3) stride = 3 * stride + 1;
  for (; stride > 0; stride /= 3)
    for (std::size_t k = stride; k < values.size(); ++k)
      for (std::size_t j = k; j >= stride && before(values[j], values[j - stride]); j -= stride)
        std::swap(values[j], values[j - stride]);
}

/// Sorts `stored` by slot.
/// \throws invalid_plan   for a slot that occurs twice, and for slots and states that do not exist
constexpr void check_stored(table<stored_state>& stored, stopped_sweep const& sweep) {
  sort(stored, [](stored_state const& a, stored_state const& b) { return a.slot < b.slot; });
  for (std::size_t k = 0; k < stored.size(); ++k) {
    auto const [slot, state, where] = stored[k];
    bool const twice = k > 0 && stored[k - 1].slot == slot;
    if (twice || slot < 0 || slot >= sweep.slots || state < 0 || state > sweep.steps)
      throw invalid_plan{"cairn::remaining", twice ? "a slot is named twice" : "no such slot or state",
                         {{"slot", slot}, {"slots", sweep.slots}, {"state", state}, {"steps", sweep.steps}}, ""};
  }
}

/// Moves the states from which open leaves can be run again to the front, in order, and returns their number. The
/// others follow: the initial state, states after the open steps or inside a leaf, and duplicates.
/// \throws invalid_plan   as `check_stored`
constexpr std::size_t put_useful_first(table<stored_state>& stored, stopped_sweep const& sweep) {
  check_stored(stored, sweep);
  sort(stored, [](stored_state const& a, stored_state const& b) {
    return a.state < b.state || (a.state == b.state && a.slot < b.slot);
  });
  std::size_t useful = 0;
  for (std::size_t k = 0; k < stored.size(); ++k) {
    step_index const state = stored[k].state;
    bool const copy = useful > 0 && stored[useful - 1].state == state;
    if (state > 0 && state < sweep.open && state % sweep.leaf == 0 && !copy) std::swap(stored[useful++], stored[k]);
  }
  return useful;
}

/// Lists the lowest slots that hold no useful state and can be written, no more than the open leaves can fill, and
/// returns their number. `empty` has room for the slots of the useful states after them.
/// \param unwritable  how many slots can_write(slot) refuses; with 0 it is not called
template <class CanWrite>
constexpr std::size_t list_empty_slots(table<stored_state> const& stored, std::size_t useful,
                                       stopped_sweep const& sweep, table<stored_state>& empty, slot_index unwritable,
                                       CanWrite can_write) {
  auto there = std::uint64_t(sweep.slots) - std::uint64_t(unwritable);
  for (std::size_t k = 0; k < useful; ++k)
    if (unwritable == 0 || can_write(stored[k].slot)) --there;
  auto const leaves = std::uint64_t(sweep.open / sweep.leaf) + 1;
  auto const count = std::size_t(lesser(leaves, there));
  empty.assign(count + useful + std::size_t(unwritable), {});
  for (std::size_t k = 0; k < useful; ++k)
    if (auto const slot = std::size_t(stored[k].slot); slot < empty.size()) empty[slot].state = 1;
  if (unwritable > 0)
    for (std::size_t slot = 0; slot < empty.size() && slot < std::size_t(sweep.slots); ++slot)
      if (!can_write(slot_index(slot))) empty[slot].state = 1;
  std::size_t found = 0;
  for (std::size_t slot = 0; found < count; ++slot)  // each mark is read before its place is written
    if (empty[slot].state == 0) empty[found++].slot = slot_index(slot);
  return count;
}

}  // namespace cairn::detail
