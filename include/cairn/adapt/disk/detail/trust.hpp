// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file trust.hpp  What of another process may be used: only what is known to be the same there.
#include <type_traits>
#include <utility>
#include <cairn/core/recorded.hpp>
#include <cairn/core/forms.hpp>
#include <cairn/run/hook.hpp>
#include <cairn/run/model.hpp>
#include <cairn/run/objective.hpp>

namespace cairn {

/// The word of a function's author that it changes nothing outside of its arguments, and reads nothing else that may
/// differ in a process that goes on with the run: `reads_only{f}` in the place of f.
template <class Fn>
struct reads_only : Fn {
  /// \param f  a function object, which is copied
  explicit constexpr reads_only(Fn f) : Fn{std::move(f)} {}
};

namespace detail {

/// Whether a function has no variables of its own: whatever it does, it does in every process. Static variables cannot
/// be seen.
template <class T> struct captures {
  static constexpr bool nothing = std::is_empty_v<T> || std::is_function_v<std::remove_pointer_t<T>>;
};
template <class T> struct captures<T const> : captures<T> {};
template <class T> struct captures<T&> : captures<T> {};
template <class... T> inline constexpr bool capture_nothing = (captures<T>::nothing && ...);
template <class Fn> struct captures<reads_only<Fn>> { static constexpr bool nothing = true; };
template <adjoint_form Form, class Fn> struct captures<tagged<Form, Fn>> : captures<Fn> {};
template <class Record, class Reverse, class Restart>
struct captures<recorded<Record, Reverse, Restart>> {
  static constexpr bool nothing = capture_nothing<Record, Reverse, Restart>;
};
template <class Record, class Reverse>
struct captures<recorded<Record, Reverse, void>> { static constexpr bool nothing = capture_nothing<Record, Reverse>; };
template <class Adjoint, class Hook>
struct captures<hooked_adjoint<Adjoint, Hook>> {
  static constexpr bool nothing = capture_nothing<Adjoint, Hook>;
};
template <class Reverse, class Hook>
struct captures<hooked_reverse<Reverse, Hook>> { static constexpr bool nothing = capture_nothing<Reverse, Hook>; };
template <class Step, class Adjoint, class Bar>
struct captures<model<Step, Adjoint, Bar>> { static constexpr bool nothing = capture_nothing<Step, Adjoint>; };
template <class Fn, class DF> struct captures<at_end<Fn, DF>> {
  static constexpr bool nothing = capture_nothing<Fn, DF>;
};
template <class Fn, class DF> struct captures<at_every<Fn, DF>> : captures<at_end<Fn, DF>> {};
template <class Fn, class DF> struct captures<at_states<Fn, DF>> : captures<at_end<Fn, DF>> {};
template <class First, class Second> struct captures<objective_sum<First, Second>> {
  static constexpr bool nothing = capture_nothing<First, Second>;
};

/// What may be used of a stopped process.
struct trust {
  bool states = false;   ///< checkpoints
  bool record = false;   ///< the adjoint, and the sums beside it
  char const* why = "";  ///< why not all of it; empty if all
};

/// \param keyed  whether the user gave a key, by which the run is another one where what is captured is
/// \tparam Wrt  whether parameters and sums are arguments of the verb
template <class Step, class Adjoint, bool SeedCaptures, bool Wrt>
[[nodiscard]] constexpr trust trust_in(bool keyed) noexcept {
  if (keyed) return {true, true};
  if constexpr (!Wrt && !captures<Step>::nothing)
    return {false, false,
            "the step has variables of its own, which may differ; give them as cairn::wrt{p, dp}, or a key that names "
            "them"};
  else if constexpr (!Wrt && !captures<Adjoint>::nothing)
    return {true, false,
            "the adjoint has variables of its own, which may be sums; give these as cairn::wrt{p, dp}, or say "
            "cairn::reads_only{adjoint}"};
  else if constexpr (SeedCaptures)
    return {true, false,
            "the seed or the objective has variables of its own, which may differ; give a key that names them"};
  else return {true, true};
}

}  // namespace detail
}  // namespace cairn
