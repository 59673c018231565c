// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file workload.hpp  Sizes and times of a loop, which turn a schedule's counts into bytes and seconds.
#include <optional>
#include <cairn/core/action.hpp>
#include <cairn/core/sweep_bytes.hpp>
#include <cairn/rules/frames_needed.hpp>
#include <cairn/rules/replay_check.hpp>

namespace cairn {

/// The size of a tier without a limit.
inline constexpr wide unlimited_bytes = ~wide{0};

/// The cost of keeping states on a tier.
struct tier_cost {
  double write_seconds = 0;  ///< to save one state there, >= 0
  double read_seconds = 0;   ///< to load one state from there, >= 0
  /// Capacity for states; 0 if there is no such tier. Ignored for memory, which the budget limits.
  wide bytes = 0;
};

/// The cost of states on each tier: `{.disk = {.write_seconds = 0.1, .read_seconds = 0.1, .bytes =
/// cairn::unlimited_bytes}}`.
struct tier_costs {
  tier_cost memory;  ///< working memory; `write_seconds`: the copy that a sweep with an in-place step makes of each
                     ///< checkpoint
  tier_cost device;  ///< memory of an accelerator
  tier_cost host;    ///< memory of the host of an accelerator
  tier_cost disk;    ///< files
  /// The cost of one tier.
  [[nodiscard]] constexpr tier_cost& operator[](tier where) noexcept {
    return where == tier::memory ? memory : where == tier::device ? device : where == tier::host ? host : disk;
  }
  /// The cost of one tier.
  [[nodiscard]] constexpr tier_cost const& operator[](tier where) const noexcept {
    return where == tier::memory ? memory : where == tier::device ? device : where == tier::host ? host : disk;
  }
};

/// What a step that runs backwards costs, see `reversible`.
struct reversible_costs {
  wide kept_bytes = 0;                      ///< what is kept of one step; see `reversible_check::kept_bytes`
  std::optional<double> back_seconds = {};  ///< one call of `back`, >= 0; `step_seconds` if not given
  /// Most steps of a segment, as `reversible_check::longest_segment` finds them for a drift; 0 for any number.
  step_index longest = 0;
  bool keep_all = false;  ///< as in `reversible_options`
};

/// One loop on one machine. Sizes are of whole values, heap included. If a size changes during the loop, give that of
/// the largest value as the step leaves it, with the spare capacity of its containers, so that the memory of a plan is
/// an upper bound. What a loop need not have, from `term_bytes` to `plan_bytes`, counts nothing if not given.
struct workload {
  std::optional<step_index> steps = {};    ///< loop length; if given, must agree with the plan's
  wide state_bytes = 0;                    ///< one state; see `bytes_of`. Must be >= 1 to plan within a budget
  /// sizeof(State), part of `state_bytes`: an unused frame holds only this; 0 counts it as a whole state.
  wide state_inline_bytes = 0;
  std::optional<wide> initial_bytes = {};  ///< the caller's own initial state; `state_bytes` if not given
  wide adjoint_bytes = unknown_bytes;      ///< one adjoint; `state_bytes` if not given
  /// What one adjoint call, or one recorded step, keeps. If not given: nothing in a call for one step; for recorded
  /// steps and longer leaves nobody knows, so that bytes are `unknown_bytes` and a budget is refused.
  wide tape_bytes = unknown_bytes;
  wide tape_inline_bytes = 0;  ///< sizeof(std::optional<Tape>), part of `tape_bytes`: what an empty place for a
                               ///< recorded tape holds
  wide tape_step_bytes = 0;                ///< for leaf adjoints: what each step of the leaf adds to `tape_bytes`
  wide term_bytes = 0;      ///< states that terms of an objective need within one adjoint call, beside `tape_bytes`
  wide params_bytes = 0;    ///< the parameters p
  wide gradient_bytes = 0;  ///< the gradient with respect to them, dp
  wide choice_bytes = 0;    ///< records of what steps have chosen
  wide file_bytes = 0;      ///< what a run on disk holds in memory
  wide plan_bytes = 0;      ///< the plan itself, besides its tables
  double step_seconds = 0;                 ///< one call of the step, >= 0
  std::optional<double> record_seconds = {};  ///< one call of `record`, >= 0; `step_seconds` if not given
  double adjoint_seconds = 0;              ///< the adjoint of one step, >= 0
  /// Time to touch the memory of a state for the first time, >= 0; 0 if a workspace is reused.
  double frame_seconds = 0;
  sweep_form form = {};                    ///< how step and adjoint are written, and whether the run is kept
  bool tapes_restart = false;              ///< the recording adjoint can restore the state at the end of a tape
  tier_costs tiers = {};                   ///< cost of states on each tier
  /// As in `sweep_options`: the bytes of the check are counted, its time is not.
  replay_check verify = replay_check::off;
  /// Of a step that runs backwards: plans with leaves, such as `segments`, make states by `back`.
  std::optional<reversible_costs> reversible = {};
};

}  // namespace cairn
