// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file signature.hpp  The parameter types of a function, and which of them it takes by value.
#include <cstddef>
#include <type_traits>
#include <utility>
#include <cairn/door/detail/callable.hpp>

namespace cairn::detail {

template <class Fn> struct list_of_function { using type = void; };
template <class Result, class... Args, bool NoThrow>
struct list_of_function<Result(Args...) noexcept(NoThrow)> { using type = arguments<Args...>; };
template <class Result, class... Args, bool NoThrow>
struct list_of_function<Result(Args...) const noexcept(NoThrow)> { using type = arguments<Args...>; };
template <class Result, class... Args, bool NoThrow>
struct list_of_function<Result(Args...) & noexcept(NoThrow)> { using type = arguments<Args...>; };
template <class Result, class... Args, bool NoThrow>
struct list_of_function<Result(Args...) const & noexcept(NoThrow)> { using type = arguments<Args...>; };

template <class Fn> struct function_within { using type = Fn; };
template <class Fn, class Class> struct function_within<Fn Class::*> { using type = Fn; };

/// `std::type_identity<arguments<A...>>` for a member function, a member that is a function object, a function object
/// or a function; void if it is overloaded or a template.
template <class Fn>
consteval auto parameters_of() {
  if constexpr (std::is_member_pointer_v<Fn>) return parameters_of<typename function_within<Fn>::type>();
  else if constexpr (std::is_function_v<Fn>) return std::type_identity<typename list_of_function<Fn>::type>{};
  else if constexpr (std::is_pointer_v<Fn>) return parameters_of<std::remove_pointer_t<Fn>>();
  else if constexpr (std::is_class_v<Fn> && one_signature<Fn>) return parameters_of<decltype(&Fn::operator())>();
  else return std::type_identity<void>{};
}

/// Type number `Place` of a list, counted from 0; void if it has fewer.
template <std::size_t Place, class List> struct type_at { using type = void; };
template <std::size_t Place, class Args, class... Rest>
struct type_at<Place, arguments<Args, Rest...>> : type_at<Place - 1, arguments<Rest...>> {};
template <class Args, class... Rest> struct type_at<0, arguments<Args, Rest...>> { using type = Args; };

/// What f takes as parameter number `Place`; void if it has no single signature, or fewer.
template <class Fn, std::size_t Place>
using nth_parameter =
    std::remove_cvref_t<typename type_at<Place, typename decltype(parameters_of<std::remove_cv_t<Fn>>())::type>::type>;

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
template <class Fn, class List, class Numbers> inline constexpr bool hides_others = false;
template <class Fn, class... Args, std::size_t... Number>
inline constexpr bool hides_others<Fn, arguments<Args...>, std::index_sequence<Number...>> =
    (takes_by_value<Fn, Number, arguments<Args...>> && ...);
/// A generic f that takes argument `Place` as `auto` by value, and not as a type of its own. It counts as such, too, if
/// it takes all arguments before that by value, because that hides the difference.
template <class Fn, std::size_t Place, class... Args>
inline constexpr bool takes_auto =
    hides_others<Fn, arguments<Args...>, std::make_index_sequence<Place>> ||
    !rival_takes_other<std::remove_cv_t<Fn>, Place, arguments<Args...>, std::index_sequence_for<Args...>>;
/// A rival of a mutable lambda f, which is as good for every argument. It is more special than any f where it takes
/// `other_of`, and less where it takes the first and the last arguments, so that they tie if f takes anything there.
template <class T> struct other_of {};
template <class... Between> struct rival_of_mutable {
  template <class First, class T, class... Last> rival_won operator()(First&&, Between..., other_of<T>&&, Last&&...);
};
template <class Fn, class Rival> struct beside : Fn, Rival {
  using Fn::operator();
  using Rival::operator();
};
/// What follows `Place` is given as const, and so is what comes before it, if this is asked for.
template <class Fn, std::size_t Place, bool Const, class... Args, std::size_t... Number, std::size_t... Between>
consteval bool ties(arguments<Args...>, std::index_sequence<Number...>,
                                  std::index_sequence<Between...>) {
  using given = arguments<std::conditional_t<
      Number == Place, other_of<int>,
      std::conditional_t<Number < Place && !Const, Args, std::remove_cvref_t<Args> const&>>...>;
  using rival = rival_of_mutable<typename type_at<Between + 1, given>::type...>;
  return winner<beside<Fn, rival>, typename type_at<Number, given>::type...>() == contest::tie;
}
/// Whether a generic mutable f takes by value whatever comes as argument `Place`. Its body is not compiled, unless it
/// takes `auto&&` there.
template <class Fn, std::size_t Place, class... Args>
consteval bool mutable_takes_auto() {
  if constexpr (!generic<Fn>) return false;
  else {
    constexpr auto numbers = std::index_sequence_for<Args...>{};
    constexpr auto between = std::make_index_sequence<Place - 1>{};
    if constexpr (ties<Fn, Place, false>(arguments<Args...>{}, numbers, between) ||
                  ties<Fn, Place, true>(arguments<Args...>{}, numbers, between))
      return takes_by_value<Fn, Place, arguments<Args...>>;
    else return false;
  }
}
template <class Fn, std::size_t Place, class... Args>
concept generic_by_value =
    generic<std::remove_cv_t<Fn>> &&
    (mutable_takes_auto<std::remove_cv_t<Fn>, Place, Args...>() ||
     (takes_by_value<Fn, Place, arguments<Args...>> && takes_auto<Fn, Place, Args...>));

}  // namespace cairn::detail
