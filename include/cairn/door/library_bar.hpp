// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file library_bar.hpp  The bar of a loop whose adjoint a library stores itself.
#include <cairn/language.hpp>  // first: an older language gets its message
#include <type_traits>

namespace cairn {

/// Stands for an adjoint that a library stores itself, in the object of the loop or beside it. It is the bar of a loop
/// over an object whose seed returns nothing, and the result of its `gradient`. The user's adjoint then has no
/// parameter bar: `adjoint(x[, i])`, `adjoint(x, first, last)`, or `recorded` with `reverse(tape[, i])`. Also usable as
/// a seed, if the library has the adjoint of the final state before the loop runs, and as the bar that `resume` starts
/// from.
struct library_bar {
  /// All objects are equal: they hold nothing.
  [[nodiscard]] friend constexpr bool operator==(library_bar, library_bar) noexcept { return true; }
};
namespace detail {
/// The adjoint of the user has no parameter bar.
template <class Bar>
concept barless = std::is_same_v<Bar, library_bar>;
}  // namespace detail

}  // namespace cairn
