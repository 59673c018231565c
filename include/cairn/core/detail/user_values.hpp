#pragma once
/// \file user_values.hpp  How values of the user's become objects of ours, and how ours are lent to the user's
/// functions: the one rule of every copy.
/// A value that is given away, a non-const rvalue, is moved. Every other one is copied as `copy_state` copies it, so
/// that the constructor of a type that `state_traits` copies, which may share, is never asked. What a function returns
/// by value is taken as its own.
#include <cstddef>
#include <type_traits>
#include <utility>
#include <cairn/core/detail/copy_fault.hpp>
#include <cairn/core/detail/signature.hpp>
#include <cairn/core/detail/step_shape.hpp>
#include <cairn/core/state_traits.hpp>

namespace cairn::detail {

/// Handed over as `X&&`, it may be moved from.
template <class X>
concept given_away = !std::is_lvalue_reference_v<X> && !std::is_const_v<std::remove_reference_t<X>>;

/// A copy of x by the rule above.
template <class T>
[[nodiscard]] constexpr T copy_of(T const& x) {
  if constexpr (traited_copy<T>) {
    T copy{};
    copy_state(x, copy);
    return copy;
  } else return T(x);
}
/// An object of ours of what was handed over.
template <class X>
[[nodiscard]] constexpr std::remove_cvref_t<X> taken(X&& x) {
  if constexpr (given_away<X>) return std::remove_cvref_t<X>(std::forward<X>(x));
  else return copy_of<std::remove_cvref_t<X>>(x);
}
/// An object of ours of what `make()` returns.
template <class Make>
[[nodiscard]] constexpr auto taken_from(Make&& make) -> std::remove_cvref_t<decltype(make())> {
  if constexpr (std::is_reference_v<decltype(make())>) return taken<decltype(make())>(make());
  else return make();
}
/// The same of functions that hand out what there is, as seeds do that return the state: of a type that `state_traits`
/// copies, `return x` has asked the constructor.
template <class Make>
[[nodiscard]] constexpr auto taken_out_by(Make&& make) -> std::remove_cvref_t<decltype(make())> {
  using T = std::remove_cvref_t<decltype(make())>;
  if constexpr (traited_copy<T>) return copy_of<T>(make());
  else return taken_from(make);
}

/// A snapshot of an object.
template <class State>
[[nodiscard]] constexpr kept_as<State> taken_snapshot(State const& x) {
  return taken_out_by([&]() -> decltype(auto) { return save_state(x); });
}

/// An argument of type A is a const object of ours that only `state_traits` copies.
template <class A>
concept lent = std::is_lvalue_reference_v<A> && std::is_const_v<std::remove_reference_t<A>> &&
    traited_copy<std::remove_cvref_t<A>>;
/// x itself, or for a parameter that is no reference a copy by the rule above, and not one by the constructor.
template <bool ByValue, class A>
[[nodiscard]] constexpr decltype(auto) lend(A&& x) {
  if constexpr (ByValue && lent<A&&>) return copy_of<std::remove_cvref_t<A>>(x);
  else return std::forward<A>(x);
}
template <class Called, std::size_t... Place, class F, class... A>
constexpr decltype(auto) call_lending_each(std::index_sequence<Place...>, F& f, A&&... args) {
  return f(lend<takes_by_value<Called, Place, arguments<A&&...>>>(std::forward<A>(args))...);
}
/// `f(args...)`, where f is a function of the user's.
template <class F, class... A>
constexpr decltype(auto) call_lending(F& f, A&&... args) {
  if constexpr (!(lent<A&&> || ...)) return f(std::forward<A>(args)...);
  else
    return call_lending_each<typename untagged<F>::type>(std::index_sequence_for<A...>{}, f, std::forward<A>(args)...);
}

}  // namespace cairn::detail
