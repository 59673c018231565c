// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file check_gradient.hpp  The Taylor test of a gradient, however it was computed.
#include <cstdint>
#include <limits>
#include <type_traits>
#include <utility>
#include <cairn/core/detail/user_values.hpp>
#include <cairn/core/error.hpp>
#include <cairn/run/check/detail/differentiated.hpp>
#include <cairn/run/check/detail/number_runs.hpp>
#include <cairn/run/check/detail/taylor_test.hpp>
#include <cairn/run/check/report.hpp>

namespace cairn {

/// Checks whether `gradient` is the derivative of `objective` at p: the Taylor remainder along a random direction must
/// fall with the square of the distance. For gradients with respect to anything: parameters, controls, the initial
/// state.
/// \param objective  `objective(p)` returns a floating-point number; called about 20 times for doubles and 9 for floats
/// \param p  the point   \param gradient  as many floating-point numbers as p has, in the same order
/// \throws invalid_call   if p has no floating-point numbers, or gradient has another number of them; and what
///   objective throws
/// \ingroup start
template <class Objective, class P, class G>
[[nodiscard]] adjoint_report check_gradient(Objective&& objective, P const& p, G const& gradient,
                                            std::uint64_t random_seed = 1) {
  adjoint_report report;
  auto const point = detail::every_number_of(p);
  auto const given = detail::every_number_of(gradient);
  auto const from = detail::numbers_of(point), slope = detail::numbers_of(given);
  if (from.empty() || slope.size() != from.size())
    throw invalid_call{"cairn::check_gradient",
                       "the gradient must have as many floating-point numbers as the point, and at least one",
                       {{"gradient", slope.size()}, {"point", from.size()}},
                       ""};
  detail::random_numbers random{random_seed};
  auto const direction = detail::random_direction(random, detail::scales_of(point));
  using value = std::remove_cvref_t<decltype(objective(p))>;
  static_assert(std::is_floating_point_v<value>, "cairn: the objective must give a floating-point number");
  double const start = double(detail::call_lending(objective, p));
  int bits = detail::bits_of(point) < detail::bits_of(given) ? detail::bits_of(point) : detail::bits_of(given);
  if (std::numeric_limits<value>::digits < bits) bits = std::numeric_limits<value>::digits;
  double const rounding = detail::magnitude(start) * detail::power_of_two(1 - bits) + 2 * detail::underflow_of<value>();
  double const rate = detail::sum_of_terms(slope, direction) * detail::power_of_two(-bits / 2) +
                      2 * detail::sum_of_terms(detail::underflows_of(given), direction);
  detail::taylor_test(report, bits, rounding, rate, [&](double h) {
    P moved = detail::copy_of(p);
    auto to = detail::moved(from, h, direction);
    detail::set_numbers(detail::every_number_of(moved), to);
    return detail::magnitude(double(detail::call_lending(objective, std::as_const(moved))) - start -
                             detail::dot(slope, detail::less(std::move(to), from)));
  });
  report.put_in_words("cairn::check_gradient");
  return report;
}

}  // namespace cairn
