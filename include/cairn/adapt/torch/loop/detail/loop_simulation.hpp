// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file loop_simulation.hpp  The memory and the counts of actions of a schedule over a loop of tensors.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <unordered_map>
#include <vector>
#include <cairn/adapt/torch/loop/loop_plan.hpp>
#include <cairn/core/action.hpp>
#include <cairn/core/wide.hpp>
#include <cairn/schedule/any.hpp>

namespace cairn::libtorch::detail {

/// Obeys a schedule with nothing but the numbers of states, in one walk. A state that is live and kept, or kept and
/// initial, counts once.
class loop_simulation {
 public:
  loop_simulation(loop_costs const& costs, any_schedule const& plan)
      : costs_{costs}, slots_(std::size_t(plan.slots()), none) {
    cairn::detail::each_action(plan, [&](action const& a) {
      switch (a.kind) {
        case action_kind::advance:
        case action_kind::turn: run(a); break;
        case action_kind::reverse:
          note(backward_, bytes_of_block(costs_, a.to - a.from), 0);
          ++blocks;
          live_ = none;
          break;
        case action_kind::save:
          ++holders_[slots_[std::size_t(a.slot)] = live_];
          peak_slots = (std::max)(peak_slots, ++full_slots_);
          break;
        case action_kind::drop:
          if (auto const held = holders_.find(slots_[std::size_t(a.slot)]); --held->second == 0) holders_.erase(held);
          --full_slots_;
          break;
        default: live_ = a.slot == no_slot ? 0 : slots_[std::size_t(a.slot)];
      }
    });
  }
  /// The peak in bytes.
  [[nodiscard]] wide peak() const noexcept {
    return (std::max)(forward_, backward_ + costs_.other_bytes + costs_.gradient_bytes);
  }
  /// The bytes held at the turn, without temporary memory of the turn.
  [[nodiscard]] wide kept() const noexcept { return at_turn_ + costs_.other_bytes; }

  std::int64_t forward = 0;  ///< steps up to and in the turn
  std::int64_t recompute = 0;  ///< steps run after the turn without a tape
  std::int64_t blocks = 0;  ///< blocks differentiated
  slot_index peak_slots = 0;  ///< most slots in use at once

 private:
  static constexpr step_index none = -1;

  void run(action const& a) {
    bool const turns = a.kind == action_kind::turn;
    // After its first step a run holds a state that is neither kept nor its first one; so does a turn.
    bool const moves = a.to - a.from > 1;
    (turned_ ? recompute : forward) += a.to - a.from;
    if (a.from < a.to)
      note(turned_ ? backward_ : forward_, costs_.step_bytes,
           turns && moves                  ? 1
           : moves && is_checkpoint(live_) ? 1
                                           : 0);
    if (turns) at_turn_ = states_now() * costs_.state_bytes + wide(full_slots_) * costs_.generator_bytes;
    turned_ = turned_ || turns;
    if (!turns) live_ = a.to;
  }
  [[nodiscard]] bool is_checkpoint(step_index state) const { return state == 0 || holders_.contains(state); }
  [[nodiscard]] wide states_now() const {
    return wide(holders_.size()) + (holders_.contains(0) ? 0 : 1) + (live_ == none || is_checkpoint(live_) ? 0 : 1);
  }
  void note(wide& peak, wide work, wide more_states) const {
    wide const kept = (states_now() + more_states) * costs_.state_bytes + wide(full_slots_) * costs_.generator_bytes;
    peak = (std::max)(peak, work + kept);
  }

  loop_costs costs_;
  std::vector<step_index> slots_;  ///< the state in each slot
  std::unordered_map<step_index, int> holders_;  ///< how many slots hold a state
  step_index live_ = 0;
  slot_index full_slots_ = 0;
  bool turned_ = false;
  wide forward_ = 0, backward_ = 0, at_turn_ = 0;
};

}  // namespace cairn::libtorch::detail
