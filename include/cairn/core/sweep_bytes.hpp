// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file sweep_bytes.hpp  The sizes of the values in a sweep, and the bytes that it holds, by purpose.
#include <cairn/core/wide.hpp>

namespace cairn {

/// Bytes that cannot be told.
inline constexpr wide unknown_bytes = ~wide{0};

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
  wide terms = 0;         ///< states that terms of an objective need within one adjoint call, beside the longest tape
  wide params = 0;        ///< the parameters p
  wide gradient = 0;      ///< the gradient with respect to them, dp
  wide choices = 0;       ///< records of what steps have chosen
  wide files = 0;         ///< what a run on disk holds in memory
  wide plan = 0;          ///< the plan itself, besides its tables
};

/// The bytes that a sweep holds, by purpose: the one list that predictions, budgets and reports add up.
struct sweep_parts {
  wide states = 0;    ///< checkpoints, and states in use
  wide adjoints = 0;  ///< one, or two while a new one is made from the old
  wide tapes = 0;     ///< tapes kept, and the tape of the adjoint call
  wide terms = 0;     ///< states that terms of an objective need within an adjoint call, beside the longest tape
  wide plan = 0;      ///< tables of the plan, and cursors
  wide frames = 0;    ///< what is noted of frames and slots
  wide checks = 0;    ///< the replay check
  wide choices = 0;   ///< records of what steps have chosen
  wide files = 0;     ///< of a run on disk
  wide initial = 0;   ///< the caller's initial state
  wide params = 0;    ///< the parameters p
  wide gradient = 0;  ///< the gradient with respect to them, dp

  static constexpr int count = 12;  ///< how many there are
  /// Calls f(name, part) for each part; the name is that of the member.
  template <class Parts, class Fn>
  static constexpr void each(Parts& of, Fn f) {
    f("states", of.states), f("adjoints", of.adjoints), f("tapes", of.tapes), f("terms", of.terms);
    f("plan", of.plan), f("frames", of.frames), f("checks", of.checks), f("choices", of.choices);
    f("files", of.files), f("initial", of.initial), f("params", of.params), f("gradient", of.gradient);
  }
  /// The sum of all; `unknown_bytes` if one is unknown.
  [[nodiscard]] constexpr wide total() const noexcept {
    wide sum = 0;
    each(*this, [&](char const*, wide bytes) {
      sum = sum == unknown_bytes || bytes == unknown_bytes ? unknown_bytes : sum + bytes;
    });
    return sum;
  }
  /// What has the size that the plan says: tables, frames, checks, and those of choices and files.
  [[nodiscard]] constexpr wide tables() const noexcept { return plan + frames + checks + choices + files; }
};

}  // namespace cairn
