// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cairn/core/detail/compiler.hpp>
#include <cairn/core/error.hpp>
#include <cairn/run/check/check_gradient.hpp>
#include <cairn/run/check/detail/number_lists.hpp>
#include <cairn/run/check/detail/taylor_test.hpp>

namespace cairn::detail {

CAIRN_DECL adjoint_report report_of_gradient(checked_objective const& objective, numbers_view point,
                                             numbers_view gradient, std::uint64_t random_seed) {
  auto const from = numbers_of(point), slope = numbers_of(gradient);
  if (from.empty() || slope.size() != from.size())
    throw invalid_call{"cairn::check_gradient",
                       "the gradient must have as many floating-point numbers as the point, and at least one",
                       {{"gradient", slope.size()}, {"point", from.size()}},
                       ""};
  random_numbers random{random_seed};
  auto const direction = random_direction(random, scales_of(point));
  double const start = objective.at_point();
  int bits = lesser(bits_of(gradient), bits_of(point));
  if (objective.kind->digits < bits) bits = objective.kind->digits;
  double const rounding = magnitude(start) * power_of_two(1 - bits) + 2 * objective.kind->underflow();
  double const rate = sum_of_terms(slope, direction) * power_of_two(-bits / 2) +
                      2 * sum_of_terms(underflows_of(gradient), direction);
  adjoint_report report;
  taylor_test(report, bits, rounding, rate, [&](double h, double& change) {
    auto to = moved(from, h, direction);
    double const there = objective.at_changed([&](numbers_view numbers) { set_numbers(numbers, to); });
    change = there - start;
    return magnitude(change - dot(slope, less(std::move(to), from)));
  });
  report.put_in_words("cairn::check_gradient");
  return report;
}

}  // namespace cairn::detail
