// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file whole_test.hpp  The Taylor test of the gradient of a whole loop.
#include <utility>
#include <cairn/core/detail/lesser.hpp>
#include <cairn/run/check/detail/checked_loop.hpp>
#include <cairn/run/check/detail/magnitudes.hpp>
#include <cairn/run/check/detail/number_lists.hpp>
#include <cairn/run/check/detail/taylor_test.hpp>

namespace cairn::detail {

/// The Taylor test of the first n steps: all of them or, if at the end only numbers too tiny to have all their bits are
/// left, the steps before that.
/// \param last  the state after n steps   \param reach  magnitudes of the states along the loop
[[gnu::cold]] inline void test_whole(checked_loop& loop, unnamed_state const& x0, unnamed_state const& last,
                                     step_index n, magnitudes const& reach) {
  auto const first_numbers = loop.numbers(x0), last_numbers = loop.numbers(last);
  int bits = bits_of(first_numbers);
  auto const from = numbers_of(first_numbers), final_numbers = numbers_of(last_numbers);
  auto const scales = scales_of(first_numbers), v = random_direction(loop.random(), scales);
  auto w = loop.random_weights(last, raised(scales_of(last_numbers), underflows_of(last_numbers), bits), reach);
  held_bar const probe = loop.bar_with(last, w);
  w = loop.cut(*probe, w.size());
  int const bar_bits = bits_of(loop.numbers(*probe));
  bits = lesser(bits, bar_bits);
  // The most by which errors in numbers too tiny to have all their bits, forward and back, change the sum and its
  // derivative.
  double lost = 2 * sum_of_terms(w, underflows_of(last_numbers)), lost_rate = 0;
  auto const pull = [&](unnamed_state const& x, unnamed_bar& bar, step_index i) { loop.pull(x, bar, i); };
  auto const capture = [&](unnamed_state const& x, unnamed_bar& bar, step_index i) {
    pull(x, bar, i);
    auto const tiny = underflows_of(loop.numbers(x));
    lost += 2 * sum_of_terms(loop.cut(bar, tiny.size()), tiny);
    lost_rate += 2 * sum_of_terms(underflows_of(loop.numbers(bar)), scales_of(loop.numbers(x)));
  };
  auto const once = loop.gradient_of(x0, last, n, w, capture);
  auto const alone = loop.gradient_of(x0, last, n, reals(w.size()), pull);
  auto const slope = less(once, alone);
  bool resized = false;  // a state beside the tested one has other numbers
  double const rate = (sum_of_terms(once, v) + sum_of_terms(alone, v)) * power_of_two(-bits / 2) + lost_rate;
  taylor_test(loop.report(), bits, sum_of_terms(w, final_numbers) * power_of_two(1 - bits) + lost, rate,
              [&](double h, double& change) {
                held_state x = loop.copy(x0);
                auto to = moved(from, h, v);
                set_numbers(loop.numbers(*x), to);
                if (loop.has_constants()) loop.run_beside(x, loop.copy(x0), n);
                else
                  for (step_index i = 0; i < n; ++i) loop.advance(*x, i);
                auto const moved_numbers = numbers_of(loop.numbers(*x));
                resized = moved_numbers.size() != w.size();
                if (resized) return 1 / (h - h);
                change = dot(w, less(moved_numbers, final_numbers));
                return magnitude(change - dot(slope, less(std::move(to), from)));
              });
  if (resized) loop.report().fault = adjoint_fault::undecided;
}

}  // namespace cairn::detail
