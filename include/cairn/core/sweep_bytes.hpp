// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file sweep_bytes.hpp  The sizes of the values in a sweep, and the bytes that it holds, by purpose.
#include <cairn/core/wide.hpp>

namespace cairn {

/// Sizes in bytes of the values in a sweep, heap included; see `bytes_of`. If a size changes during the sweep: the
/// largest.
struct sweep_sizes {
  wide state = 0;  ///< one state
  /// sizeof(State), part of `state`: an unused frame holds only this; 0 counts unused frames as whole states.
  wide state_inline = 0;
  wide initial = 0;       ///< the caller's own initial state
  wide adjoint = 0;  ///< one adjoint
  wide tape = 0;          ///< what one adjoint call, or one `record`, holds besides its adjoint
  wide tape_inline = 0;   ///< what an empty place for a recorded tape holds; part of `tape`
};

/// The bytes that a sweep holds, by purpose.
struct sweep_parts {
  wide states = 0;    ///< checkpoints, and states in use
  wide adjoints = 0;  ///< one, or two while a new one is made from the old
  wide tapes = 0;     ///< tapes kept, and the tape of the adjoint call
  wide tables = 0;    ///< tables of the plan, cursor, frames, slots and replay check
  wide initial = 0;   ///< the caller's initial state
  /// The sum of all.
  [[nodiscard]] constexpr wide total() const noexcept { return states + adjoints + tapes + tables + initial; }
};

}  // namespace cairn
