// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file trust.hpp  What of another process may be used: only what is known to be the same there.
#include <cstdint>
#include <type_traits>
#include <typeinfo>
#include <utility>
#include <cairn/core/recorded.hpp>
#include <cairn/core/state_bytes.hpp>
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

/// What is known of a function: whether it has no variables of its own, so that whatever it does, it does in every
/// process; and of what others it is made. Static variables cannot be seen.
template <class T> struct captures {
  static constexpr bool nothing = std::is_empty_v<T> || std::is_function_v<std::remove_pointer_t<T>>;
  template <class Look>
  static void each(T const&, Look const&) noexcept {}
};
template <class T> struct captures<T const> : captures<T> {};
template <class T> struct captures<T&> : captures<T> {};
template <class... T> inline constexpr bool capture_nothing = (captures<T>::nothing && ...);
/// A callable of the library that names the types of those of which it is made.
template <class Made> struct made_of_functions;
template <class... T>
struct made_of_functions<void (*)(T...)> { static constexpr bool nothing = capture_nothing<T...>; };
template <class T>
  requires requires { typename T::functions; }
struct captures<T> : made_of_functions<typename T::functions> {
  template <class Look>
  static void each(T const& f, Look const& look) { f.each_function(look); }
};
template <class Fn> struct captures<reads_only<Fn>> {
  static constexpr bool nothing = true;
  template <class Look>
  static void each(Fn const&, Look const&) noexcept {}
};
template <adjoint_form Form, class Fn> struct captures<tagged<Form, Fn>> {
  static constexpr bool nothing = captures<Fn>::nothing;
  template <class Look>
  static void each(tagged<Form, Fn> const& f, Look const& look) { look(f.call); }
};
template <class Record, class Reverse, class Restart>
struct captures<recorded<Record, Reverse, Restart>> {
  static constexpr bool nothing = capture_nothing<Record, Reverse, Restart>;
  template <class Look>
  static void each(recorded<Record, Reverse, Restart> const& f, Look const& look) {
    look(f.record), look(f.reverse), look(f.restart);
  }
};
template <class Record, class Reverse>
struct captures<recorded<Record, Reverse, void>> {
  static constexpr bool nothing = capture_nothing<Record, Reverse>;
  template <class Look>
  static void each(recorded<Record, Reverse, void> const& f, Look const& look) { look(f.record), look(f.reverse); }
};
template <class Adjoint, class Hook>
struct captures<hooked_adjoint<Adjoint, Hook>> {
  static constexpr bool nothing = capture_nothing<Adjoint, Hook>;
  template <class Look>
  static void each(hooked_adjoint<Adjoint, Hook> const& f, Look const& look) { look(*f.adjoint), look(*f.hook); }
};
template <class Reverse, class Hook>
struct captures<hooked_reverse<Reverse, Hook>> {
  static constexpr bool nothing = capture_nothing<Reverse, Hook>;
  template <class Look>
  static void each(hooked_reverse<Reverse, Hook> const& f, Look const& look) { look(*f.reverse), look(*f.hook); }
};
template <class Step, class Adjoint, class Bar>
struct captures<model<Step, Adjoint, Bar>> {
  static constexpr bool nothing = capture_nothing<Step, Adjoint, Bar>;
  template <class Look>
  static void each(model<Step, Adjoint, Bar> const& f, Look const& look) { look(f.step), look(f.adjoint), look(f.bar); }
};

/// In every process the same for the same type, or nearly: types without linkage in two files may share a name.
template <class T>
[[nodiscard]] char const* name_of_type() noexcept {
#if defined(__GXX_RTTI) || defined(__cpp_rtti)
  return typeid(T).name();
#else
  return __PRETTY_FUNCTION__;
#endif
}
inline void first_of_program() noexcept {}
/// Adds which function this is: its type; a pointer by its place in the program.
template <class Sum, class T>
void add_function(Sum& sum, T const& f) {
  char const* const name = name_of_type<T>();
  sum(name, __builtin_strlen(name));
  if constexpr (std::is_function_v<std::remove_pointer_t<T>>) {
    std::decay_t<T> const pointer = f;
    sum.number(reinterpret_cast<std::uintptr_t>(pointer) - reinterpret_cast<std::uintptr_t>(&first_of_program));
  } else captures<T>::each(f, [&sum](auto const& part) { add_function(sum, part); });
}

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
