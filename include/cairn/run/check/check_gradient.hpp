// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file check_gradient.hpp  The Taylor test of a gradient, however it was computed.
#include <cstdint>
#include <type_traits>
#include <utility>
#include <cairn/core/state_traits.hpp>
#include <cairn/detail/linkage.hpp>
#include <cairn/door/detail/lending.hpp>
#include <cairn/run/check/detail/differentiated.hpp>
#include <cairn/run/check/detail/number_runs.hpp>
#include <cairn/run/check/report.hpp>

namespace cairn {

namespace detail {

/// What a check of a gradient asks of an objective, without its type and that of the point.
struct checked_objective {
  call_ref<double()> at_point;
  /// The objective at a copy of the point, whose numbers `change` may set.
  call_ref<double(call_ref<void(numbers_view)> change)> at_changed;
  number_kind const* kind;  // of its values
};
[[nodiscard]] CAIRN_DECL adjoint_report report_of_gradient(checked_objective const& objective,
                                                                      numbers_view point, numbers_view gradient,
                                                                      std::uint64_t random_seed);

}  // namespace detail

/// Checks whether `gradient` is the derivative of `objective` at p: the Taylor remainder along a random direction must
/// fall with the square of the distance. For gradients with respect to anything: parameters, controls, the initial
/// state.
/// \param objective  `objective(p)` returns a floating-point number; called about 20 times for doubles and 9 for floats
/// \param p  the point   \param gradient  as many floating-point numbers as p has, in the same order
/// \throws invalid_call   if p has no floating-point numbers, or gradient has another number of them; and what
///   objective throws
/// \ingroup start
template <class Objective, class Plan, class Gradient>
[[nodiscard]] adjoint_report check_gradient(Objective&& objective, Plan const& p, Gradient const& gradient,
                                            std::uint64_t random_seed = 1) {
  using value = std::remove_cvref_t<decltype(objective(p))>;
  static_assert(std::is_floating_point_v<value>, "cairn: the objective must give a floating-point number");
  auto const at_point = [&] { return double(detail::call_lending(objective, p)); };
  auto const at_changed = [&](detail::call_ref<void(detail::numbers_view)> change) {
    Plan moved = detail::copy_of(p);
    change(detail::every_number_of(moved));
    return double(detail::call_lending(objective, std::as_const(moved)));
  };
  return detail::report_of_gradient({at_point, at_changed, &detail::number_kind_of<value>}, detail::every_number_of(p),
                                    detail::every_number_of(gradient), random_seed);
}

}  // namespace cairn

#ifndef CAIRN_SEPARATE_COMPILATION
#include <cairn/run/check/impl/check_gradient.ipp>
#endif
