// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file trust.hpp  What of another process may be used: only what is known to be the same there.
#include <type_traits>
#include <cairn/adapt/disk/detail/run_name.hpp>
#include <cairn/core/state_bytes.hpp>

namespace cairn::detail {

/// An object whose library has the adjoint, and can save it.
template <class Object>
concept saves_bar = requires(Object& x, Object const& same) {
  x.restore_bar(same.save_bar());
  requires written_state<std::remove_cvref_t<decltype(same.save_bar())>>;
  requires std::is_default_constructible_v<std::remove_cvref_t<decltype(same.save_bar())>>;
};

/// What may be used of a stopped process.
struct trust {
  bool states = false;   ///< checkpoints
  bool record = false;   ///< the adjoint, and the sums beside it
  char const* why = "";  ///< why not all of it; empty if all
};
/// Which functions could be seen through.
struct seen_parts {
  bool all[run_parts] = {true, true, true, true, true, true, true, true, true, true, true, true, true, true};
  [[nodiscard]] bool& operator[](run_part which) noexcept { return all[std::size_t(which)]; }

  /// States are what the step made, with sums of terms beside them; records are what the adjoint made of these.
  /// \param keyed  whether the user gave a key, by which the run is another one where what functions read is
  /// \param terms_along  whether the objective has terms of other states than the last
  [[nodiscard]] trust trusted(bool keyed, bool terms_along) {
    if (!(*this)[run_part::code]) return {false, false, why_unknown_part[std::size_t(run_part::code)]};
    if (keyed) return {true, true};
    for (run_part const one : {run_part::step, run_part::condition, run_part::objective})
      if (!(*this)[one] && (one != run_part::objective || terms_along))
        return {false, false, why_unknown_part[std::size_t(one)]};
    for (run_part const one : {run_part::adjoint, run_part::seed, run_part::objective})
      if (!(*this)[one]) return {true, false, why_unknown_part[std::size_t(one)]};
    return {true, true};
  }
};

}  // namespace cairn::detail
