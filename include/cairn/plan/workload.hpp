#pragma once
/// \file workload.hpp  What a loop weighs: sizes and times that turn a schedule's counts into bytes and seconds.
#include <optional>
#include <cairn/core/action.hpp>
#include <cairn/core/error.hpp>
#include <cairn/core/frames_needed.hpp>
#include <cairn/core/sweep_bytes.hpp>

namespace cairn {

/// One loop on one machine. Sizes are of whole values, heap included; where they grow on the way, of the largest.
struct workload {
  std::optional<step_index> steps = {};    ///< loop length; a plan brings its own, and must agree
  wide state_bytes = 0;  ///< one state; see `bytes_of`
  wide state_inline_bytes = 0;             ///< of these, sizeof(State): all that an unused frame holds; 0 counts it as a whole state
  std::optional<wide> initial_bytes = {};  ///< the caller's own initial state; a state where it is not given
  wide adjoint_bytes = 0;  ///< one adjoint
  wide tape_bytes = 0;                     ///< what one adjoint call, or one recorded step, keeps
  double step_seconds = 0;  ///< one call of the step, >= 0
  double adjoint_seconds = 0;  ///< the adjoint of one step, >= 0
  sweep_form form = {};                    ///< how step and adjoint are written, and whether the run is kept
};

namespace detail {

/// The largest size that any plan of up to 2^63-1 slots can be multiplied by within 128 bits.
inline constexpr wide most_bytes = wide{1} << 62;

/// \throws overflow_error, invalid_plan
[[nodiscard]] constexpr sweep_sizes sizes_of(workload const& work) {
  wide const initial = work.initial_bytes ? *work.initial_bytes : work.state_bytes;
  sweep_sizes const sizes{work.state_bytes, work.state_inline_bytes, initial, work.adjoint_bytes, work.tape_bytes};
  if ((sizes.state | sizes.initial | sizes.adjoint | sizes.tape) >= most_bytes)
    throw overflow_error{
        "cairn::workload",
        "a size of 2^62 bytes or more",
        {{"state bytes", sizes.state}, {"initial bytes", initial}, {"adjoint bytes", sizes.adjoint}, {"tape bytes", sizes.tape}},
        ""};
  if (sizes.state_inline > sizes.state)
    throw invalid_plan{"cairn::workload", "the inline part of a state is larger than the state",
                       {{"state bytes", sizes.state}, {"inline bytes", sizes.state_inline}}, "state_bytes counts both parts"};
  if (!(work.step_seconds >= 0 && work.adjoint_seconds >= 0))
    throw invalid_plan{"cairn::workload", "a time is negative or not a number", {}, ""};
  return sizes;
}

}  // namespace detail
}  // namespace cairn
