#pragma once
/// \file workload.hpp  What a loop weighs: sizes and times that turn a schedule's counts into bytes and seconds.
#include <optional>
#include <cairn/core/action.hpp>
#include <cairn/core/frames_needed.hpp>
#include <cairn/core/replay_check.hpp>

namespace cairn {

/// A tier with as much room as any loop could want.
inline constexpr wide unlimited_bytes = ~wide{0};

/// What it costs to keep states on a tier.
struct tier_cost {
  double write_seconds = 0;  ///< to save one state there, >= 0
  double read_seconds = 0;   ///< to load one state from there, >= 0
  /// That may be kept there; 0 where there is no such tier; not read for memory, of which the budget tells.
  wide bytes = 0;
};

/// What states on each tier cost: `{.disk = {.write_seconds = 0.1, .read_seconds = 0.1, .bytes = cairn::unlimited_bytes}}`.
struct tier_costs {
  tier_cost memory;  ///< of the sweep itself; to write: the copy that an in-place step makes of a state that is kept
  tier_cost device;  ///< of an accelerator
  tier_cost host;    ///< of the host of an accelerator
  tier_cost disk;    ///< files
  /// That of one tier.
  [[nodiscard]] constexpr tier_cost& operator[](tier where) noexcept {
    return where == tier::memory ? memory : where == tier::device ? device : where == tier::host ? host : disk;
  }
  /// That of one tier.
  [[nodiscard]] constexpr tier_cost const& operator[](tier where) const noexcept {
    return where == tier::memory ? memory : where == tier::device ? device : where == tier::host ? host : disk;
  }
};

/// One loop on one machine. Sizes are of whole values, heap included; where they change on the way, of the largest as
/// the step leaves it, with the room to spare that containers then have: what a plan takes by these sizes is then a
/// bound.
struct workload {
  std::optional<step_index> steps = {};    ///< loop length; a plan brings its own, and must agree
  wide state_bytes = 0;                    ///< one state; see `bytes_of`. Who plans within a budget needs 1 or more
  /// Of these, sizeof(State): all that an unused frame holds; 0 counts it as a whole state.
  wide state_inline_bytes = 0;
  std::optional<wide> initial_bytes = {};  ///< the caller's own initial state; a state where it is not given
  wide adjoint_bytes = 0;                  ///< one adjoint
  wide tape_bytes = 0;                     ///< what one adjoint call, or one recorded step, keeps
  wide tape_inline_bytes = 0;  ///< of these, sizeof(std::optional<Tape>): what an empty place for a recorded tape holds
  wide tape_step_bytes = 0;                ///< for adjoints of leaves: what each step of the leaf adds to `tape_bytes`
  double step_seconds = 0;                 ///< one call of the step, >= 0
  std::optional<double> record_seconds = {};  ///< one call of `record`, >= 0; as long as a step where it is not given
  double adjoint_seconds = 0;              ///< the adjoint of one step, >= 0
  /// To use memory for a state for the first time in a sweep, >= 0; 0 where a workspace is used again.
  double frame_seconds = 0;
  sweep_form form = {};                    ///< how step and adjoint are written, and whether the run is kept
  bool tapes_restart = false;              ///< the recording adjoint can bring back the state behind a tape
  tier_costs tiers = {};                   ///< what states on each tier cost
  /// As of `sweep_options`: the bytes of such a check are counted, its time is not.
  replay_check verify = replay_check::off;
};

}  // namespace cairn
