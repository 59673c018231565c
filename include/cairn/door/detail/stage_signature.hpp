// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file stage_signature.hpp  The types of state and adjoint that the functions of a stage take, if their signatures
/// show them.
#include <cstddef>
#include <type_traits>
#include <cairn/door/detail/signature.hpp>
#include <cairn/door/detail/stage_shape.hpp>
#include <cairn/door/wrt.hpp>

namespace cairn::detail {

template <class List> inline constexpr std::size_t parameters_in = 0;
template <class... Args> inline constexpr std::size_t parameters_in<arguments<Args...>> = sizeof...(Args);
/// Parameter `Place` of a list from `parameters_of`, without const and reference; void if there is none.
template <class List, std::size_t Place, bool Has = (Place < parameters_in<List>)>
struct parameter_at { using type = void; };
template <class List, std::size_t Place>
struct parameter_at<List, Place, true> { using type = std::remove_cvref_t<typename type_at<Place, List>::type>; };

/// The parameters of the chain that a stage takes, `p` and `dp`, if its signatures show them: `forward(x, p)`,
/// `backward(..., bar, p, dp)`. A whole number is not p, but the number of the stage.
template <class Stage>
struct told_params {
  using forward = typename decltype(parameters_of_member<member_forward, Stage>())::type;
  using backward = typename decltype(parameters_of_member<member_backward, Stage>())::type;
  static constexpr std::size_t count = parameters_in<backward>;
  static constexpr bool adds = count > 3, takes = !std::is_integral_v<typename parameter_at<forward, 1>::type>;
  using in_forward = std::conditional_t<takes, typename parameter_at<forward, 1>::type, void>;
  using in_backward = typename parameter_at<backward, adds ? count - 2 : count>::type;
  using found = std::conditional_t<std::is_void_v<in_forward>, in_backward, in_forward>;
  using p = std::conditional_t<std::is_void_v<found>, no_params, found>;
  using dp = std::conditional_t<adds, typename parameter_at<backward, count - 1>::type, p>;
};
/// The state that a stage takes; void if unknown.
template <class Stage>
[[nodiscard]] consteval auto told_state() {
  return std::type_identity<typename parameter_at<typename told_params<Stage>::forward, 0>::type>{};
}
/// The adjoint that its backward takes; void if unknown.
template <class Stage>
[[nodiscard]] consteval auto told_adjoint() {
  using told = told_params<Stage>;
  constexpr std::size_t bar = told::count - (told::adds ? 3 : 1);
  return std::type_identity<typename parameter_at<typename told::backward, bar>::type>{};
}
/// The argument that a seed takes; void if unknown.
template <class Seed>
[[nodiscard]] consteval auto told_argument() {
  using list = typename decltype(parameters_of<std::remove_cv_t<Seed>>())::type;
  return std::type_identity<typename parameter_at<list, 0>::type>{};
}

}  // namespace cairn::detail
