// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file device_replay.hpp  The replay check of a sweep on a device.
#include <cstdint>
#include <cairn/adapt/cuda/detail/placed_states.hpp>
#include <cairn/adapt/cuda/runtime.hpp>
#include <cairn/core/action.hpp>
#include <cairn/core/detail/state_hash.hpp>
#include <cairn/rules/detail/replay_ledger.hpp>
#include <cairn/rules/replay_check.hpp>
#include <cairn/store/store.hpp>

namespace cairn::detail {

/// Hashes states of a device through a scratch slot of the host, which waits for them, and compares them as the
/// `replay_ledger` says. Does nothing for a sweep without a check.
template <device_runtime Runtime, class State>
class device_replay {
 public:
  explicit device_replay(placed_states<Runtime, State>& states) noexcept : states_{states} {}

  /// A sweep begins; to be called after `begin` of the states. \throws out_of_memory
  void begin(replay_check mode, step_index steps, slot_index slots) {
    ledger_.begin({mode, steps, 1, slots, 0, false});
    if (ledger_.on()) scratch_ = states_.take_scratch();
    scratch_is_blank_ = false;
    hashed_ = -1;
  }
  /// The initial state is live. \throws nondeterminism_error   as do all functions below that compare states
  void started() {
    if (ledger_.on() && !ledger_.saved(ledger_.initial_place(), 0, hash_of(states_.live(), 0))) refuse_loaded(0);
  }
  /// State i is live, and will be saved in a slot.
  void saving(slot_index slot, step_index i) {
    if (ledger_.on() && !ledger_.saved(slot, i, hash_of(states_.live(), i))) ledger_.fail(i);
  }
  /// State i was loaded from a slot, or from `no_slot` as the initial one, and is live.
  void loaded(slot_index slot, step_index i) {
    if (!ledger_.on()) return;
    hashed_ = -1;
    slot_index const place = slot == no_slot ? ledger_.initial_place() : slot;
    if (!ledger_.loaded(place, i, hash_of(states_.live(), i))) refuse_loaded(i);
  }
  /// The steps from i on have been reversed.
  void reversed(step_index i) noexcept {
    if (ledger_.on()) ledger_.reversed(i);
  }
  /// Advances `handle` from state `from` to state `to` by calls advance(at, reach), and hashes the states in between
  /// that are to be compared.
  template <class Advance>
  void along(frame_id const& handle, step_index from, step_index to, Advance advance) {
    if (!ledger_.on()) return advance(from, to);
    auto const compare = [&](step_index i) {
      if (!ledger_.note(i, hash_of(handle, i))) ledger_.fail(i);
    };
    ledger_.along(from, to, advance, compare);
  }
  /// Fills the x1 of an out-of-place step i: with a copy of x or, if the step runs again, with zeros. The results then
  /// differ if the step does not write all of x1. Zeros, because it is unknown which bytes on a device are
  /// floating-point numbers, and no other pattern is harmless as an integer, too.
  void fill(frame_id x1, frame_id x, step_index i) {
    if (!ledger_.on()) return;
    if (ledger_.is_first(i)) states_.copy(states_.state(x), states_.state(x1));
    else states_.blank(scratch_, x1, scratch_is_blank_);
  }

 private:
  /// The hash of state i in a frame. Computed once: no action between two calls for the same state changes it.
  [[nodiscard]] std::uint64_t hash_of(frame_id frame, step_index i) {
    if (hashed_ != i) {
      state_hash hash;
      scratch_is_blank_ = false;
      states_.show(scratch_, frame, hash);
      hash_ = hash.value();
      hashed_ = i;
    }
    return hash_;
  }

  placed_states<Runtime, State>& states_;
  replay_ledger ledger_;
  slot_index scratch_ = no_slot;   // the host slot through which states are read and filled
  bool scratch_is_blank_ = false;  // it contains zeros
  std::uint64_t hash_ = 0;         // of state hashed_
  step_index hashed_ = -1;
};

}  // namespace cairn::detail
