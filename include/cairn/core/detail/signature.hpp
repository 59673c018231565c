// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file signature.hpp  The parameter types of a function, and which of them it takes by value.
#include <cstddef>
#include <type_traits>
#include <utility>
#include <cairn/core/detail/callable.hpp>

namespace cairn::detail {

template <class Fn> struct list_of_function { using type = void; };
template <class Result, class... Args> struct list_of_function<Result(Args...)> { using type = arguments<Args...>; };
template <class Result, class... Args>
struct list_of_function<Result(Args...) const> {
  using type = arguments<Args...>;
};
template <class Result, class... Args>
struct list_of_function<Result(Args...) noexcept> {
  using type = arguments<Args...>;
};
template <class Result, class... Args>
struct list_of_function<Result(Args...) const noexcept> {
  using type = arguments<Args...>;
};

template <class Fn> struct function_within { using type = Fn; };
template <class Fn, class Class> struct function_within<Fn Class::*> { using type = Fn; };

/// `std::type_identity<arguments<A...>>` for a member function, a member that is a function object, a function object
/// or a function; void if it is overloaded or a template.
template <class Fn>
[[nodiscard]] consteval auto parameters_of() {
  if constexpr (std::is_member_pointer_v<Fn>) return parameters_of<typename function_within<Fn>::type>();
  else if constexpr (std::is_function_v<Fn>) return std::type_identity<typename list_of_function<Fn>::type>{};
  else if constexpr (std::is_pointer_v<Fn>) return parameters_of<std::remove_pointer_t<Fn>>();
  else if constexpr (std::is_class_v<Fn> && one_signature<Fn>) return parameters_of<decltype(&Fn::operator())>();
  else return std::type_identity<void>{};
}

/// Type number `Place` of a list, counted from 0.
template <std::size_t Place, class List> struct type_at;
template <std::size_t Place, class Args, class... Rest>
struct type_at<Place, arguments<Args, Rest...>> : type_at<Place - 1, arguments<Rest...>> {};
template <class Args, class... Rest> struct type_at<0, arguments<Args, Rest...>> { using type = Args; };

/// A generic f takes parameter `Place` by value. Tested against a rival that differs only in this parameter and takes
/// it as T const volatile&: a reference parameter of f would be preferred.
template <class Fn, std::size_t Place, class List, class Numbers> inline constexpr bool rival_takes = false;
template <class Fn, std::size_t Place, class... Args, std::size_t... Number>
inline constexpr bool rival_takes<Fn, Place, arguments<Args...>, std::index_sequence<Number...>> =
    winner<rival<Fn, std::conditional_t<Number == Place, std::remove_cvref_t<Args> const volatile&, Args>...>,
           Args...>() == contest::rival;

/// Whether f takes argument `Place` by value if it is called with types `A...` and this argument is const. False if
/// unknown, as for members that are templates or overloaded.
template <class Fn, std::size_t Place, class List> inline constexpr bool takes_by_value = false;
template <class Fn, std::size_t Place, class... Args>
inline constexpr bool takes_by_value<Fn, Place, arguments<Args...>> = [] {
  using function = std::remove_cv_t<typename function_within<Fn>::type>;
  using list = typename decltype(parameters_of<function>())::type;
  if constexpr (!std::is_void_v<list>) return !std::is_reference_v<typename type_at<Place, list>::type>;
  else if constexpr (generic<function>)
    return rival_takes<function, Place, arguments<Args...>, std::index_sequence_for<Args...>>;
  else return false;
}();
struct any_other {};
template <class Fn, std::size_t Place, class List, class Numbers> inline constexpr bool rival_takes_other = false;
template <class Fn, std::size_t Place, class... Args, std::size_t... Number>
inline constexpr bool rival_takes_other<Fn, Place, arguments<Args...>, std::index_sequence<Number...>> =
    winner<rival<Fn, std::conditional_t<Number == Place, any_other const&,
                                        std::conditional_t<std::is_lvalue_reference_v<Args>,
                                                           std::remove_cvref_t<Args> const volatile&, Args>>...>,
           std::conditional_t<Number == Place, any_other, Args>...>() == contest::rival;
template <class Fn, std::size_t Place, class List, class Numbers> inline constexpr bool hides_others = false;
template <class Fn, std::size_t Place, class... Args, std::size_t... Number>
inline constexpr bool hides_others<Fn, Place, arguments<Args...>, std::index_sequence<Number...>> =
    ((Number >= Place || takes_by_value<Fn, Number, arguments<Args...>>) && ...);
/// A generic f that takes argument `Place` as `auto` by value, and not as a type of its own. It counts as such, too, if
/// it takes all arguments before that by value, because that hides the difference.
template <class Fn, std::size_t Place, class... Args>
inline constexpr bool takes_auto =
    hides_others<Fn, Place, arguments<Args...>, std::index_sequence_for<Args...>> ||
    !rival_takes_other<std::remove_cv_t<Fn>, Place, arguments<Args...>, std::index_sequence_for<Args...>>;
template <class Fn, std::size_t Place, class... Args>
concept generic_by_value =
    generic<std::remove_cv_t<Fn>> && takes_by_value<Fn, Place, arguments<Args...>> && takes_auto<Fn, Place, Args...>;

}  // namespace cairn::detail
