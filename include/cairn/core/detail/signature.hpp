// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file signature.hpp  The parameter types of a function, and which of them it takes by value.
#include <cstddef>
#include <type_traits>
#include <utility>
#include <cairn/core/detail/callable.hpp>

namespace cairn::detail {

template <class F> struct list_of_function { using type = void; };
template <class R, class... A> struct list_of_function<R(A...)> { using type = arguments<A...>; };
template <class R, class... A> struct list_of_function<R(A...) const> { using type = arguments<A...>; };
template <class R, class... A> struct list_of_function<R(A...) noexcept> { using type = arguments<A...>; };
template <class R, class... A> struct list_of_function<R(A...) const noexcept> { using type = arguments<A...>; };

template <class F> struct function_within { using type = F; };
template <class F, class C> struct function_within<F C::*> { using type = F; };

/// `std::type_identity<arguments<A...>>` for a member function, a member that is a function object, a function object
/// or a function; void if it is overloaded or a template.
template <class F>
[[nodiscard]] consteval auto parameters_of() {
  if constexpr (std::is_member_pointer_v<F>) return parameters_of<typename function_within<F>::type>();
  else if constexpr (std::is_function_v<F>) return std::type_identity<typename list_of_function<F>::type>{};
  else if constexpr (std::is_pointer_v<F>) return parameters_of<std::remove_pointer_t<F>>();
  else if constexpr (std::is_class_v<F> && one_signature<F>) return parameters_of<decltype(&F::operator())>();
  else return std::type_identity<void>{};
}

/// Type number `Place` of a list, counted from 0.
template <std::size_t Place, class List> struct type_at;
template <std::size_t Place, class A, class... Rest>
struct type_at<Place, arguments<A, Rest...>> : type_at<Place - 1, arguments<Rest...>> {};
template <class A, class... Rest> struct type_at<0, arguments<A, Rest...>> { using type = A; };

/// A generic f takes parameter `Place` by value. Tested against a rival that differs only in this parameter and takes
/// it as T const volatile&: a reference parameter of f would be preferred.
template <class F, std::size_t Place, class List, class Numbers> inline constexpr bool rival_takes = false;
template <class F, std::size_t Place, class... A, std::size_t... K>
inline constexpr bool rival_takes<F, Place, arguments<A...>, std::index_sequence<K...>> =
    winner<rival<F, std::conditional_t<K == Place, std::remove_cvref_t<A> const volatile&, A>...>, A...>() ==
    contest::rival;

/// Whether f takes argument `Place` by value if it is called with types `A...` and this argument is const. False if
/// unknown, as for members that are templates or overloaded.
template <class F, std::size_t Place, class List> inline constexpr bool takes_by_value = false;
template <class F, std::size_t Place, class... A>
inline constexpr bool takes_by_value<F, Place, arguments<A...>> = [] {
  using function = std::remove_cv_t<typename function_within<F>::type>;
  using list = typename decltype(parameters_of<function>())::type;
  if constexpr (!std::is_void_v<list>) return !std::is_reference_v<typename type_at<Place, list>::type>;
  else if constexpr (generic<function>)
    return rival_takes<function, Place, arguments<A...>, std::index_sequence_for<A...>>;
  else return false;
}();
struct any_other {};
template <class F, std::size_t Place, class List, class Numbers> inline constexpr bool rival_takes_other = false;
template <class F, std::size_t Place, class... A, std::size_t... K>
inline constexpr bool rival_takes_other<F, Place, arguments<A...>, std::index_sequence<K...>> =
    winner<rival<F, std::conditional_t<
                        K == Place, any_other const&,
                        std::conditional_t<std::is_lvalue_reference_v<A>, std::remove_cvref_t<A> const volatile&, A>>...>,
           std::conditional_t<K == Place, any_other, A>...>() == contest::rival;
template <class F, std::size_t Place, class List, class Numbers> inline constexpr bool hides_others = false;
template <class F, std::size_t Place, class... A, std::size_t... K>
inline constexpr bool hides_others<F, Place, arguments<A...>, std::index_sequence<K...>> =
    ((K >= Place || takes_by_value<F, K, arguments<A...>>) && ...);
/// A generic f that takes argument `Place` as `auto` by value, and not as a type of its own. It counts as such, too, if
/// it takes all arguments before that by value, because that hides the difference.
template <class F, std::size_t Place, class... A>
inline constexpr bool takes_auto =
    hides_others<F, Place, arguments<A...>, std::index_sequence_for<A...>> ||
    !rival_takes_other<std::remove_cv_t<F>, Place, arguments<A...>, std::index_sequence_for<A...>>;
template <class F, std::size_t Place, class... A>
concept generic_by_value =
    generic<std::remove_cv_t<F>> && takes_by_value<F, Place, arguments<A...>> && takes_auto<F, Place, A...>;

}  // namespace cairn::detail
