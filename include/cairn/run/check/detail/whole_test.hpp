#pragma once
/// \file whole_test.hpp  Compares the gradient of a whole loop with its Taylor remainder.
#include <utility>
#include <vector>
#include <cairn/run/check/check_gradient.hpp>
#include <cairn/run/check/detail/magnitudes.hpp>
#include <cairn/run/check/differentiated.hpp>
#include <cairn/run/gradient.hpp>

namespace cairn::detail {

/// The Taylor test of the first n steps: all of them or, if at the end only numbers too tiny to have all their bits are
/// left, the steps before that.
/// \param last  the state after n steps   \param reach  magnitudes of the states on the way
template <class Loop>
void test_whole(Loop& loop, typename Loop::state_type const& x0, typename Loop::state_type const& last, step_index n,
                magnitudes const& reach) {
  using State = typename Loop::state_type;
  using Bar = typename Loop::bar_type;
  int bits = bits_of(x0, loop.which());
  auto const from = numbers_of(x0, loop.which()), final_numbers = numbers_of(last, loop.which());
  auto const scales = scales_of(x0, loop.which()), v = random_direction(loop.random(), scales);
  auto w =
      loop.random_weights(last, raised(scales_of(last, loop.which()), underflows_of(last, loop.which()), bits), reach);
  Bar const probe = loop.bar_with(last, w);
  w = loop.cut(probe, w.size());
  int const bar_bits = bits_of(probe, loop.bar_which());
  bits = bar_bits < bits ? bar_bits : bits;
  // The most by which errors in numbers too tiny to have all their bits, forward and back, change the sum and its
  // derivative.
  double lost = 2 * sum_of_terms(w, underflows_of(last, loop.which())), lost_rate = 0;
  auto const capture = [&](State const& x, Bar& bar, step_index i) {
    loop.pull(x, bar, i);
    auto const tiny = underflows_of(x, loop.which());
    lost += 2 * sum_of_terms(loop.cut(bar, tiny.size()), tiny);
    lost_rate += 2 * sum_of_terms(underflows_of(bar, loop.bar_which()), scales_of(x, loop.which()));
  };
  auto const once = loop.cut(gradient(loop.begun_step(), copy_of(x0), n, loop.bar_with(last, w), capture), from.size());
  auto const alone = loop.cut(
      gradient(loop.begun_step(), copy_of(x0), n, loop.bar_with(last, std::vector<double>(w.size())), loop.adjoint()),
      from.size());
  auto const slope = less(once, alone);
  double const rate = (sum_of_terms(once, v) + sum_of_terms(alone, v)) * power_of_two(-bits / 2) + lost_rate;
  taylor_test(loop.report(), bits, sum_of_terms(w, final_numbers) * power_of_two(1 - bits) + lost, rate, [&](double h) {
    State x = copy_of(x0);
    auto to = moved(from, h, v);
    set_numbers(x, to, loop.which());
    if (loop.has_constants()) loop.run_beside(x, copy_of(x0), n);
    else
      for (step_index i = 0; i < n; ++i) loop.advance(x, i);
    auto const reached = numbers_of(x, loop.which());
    if (reached.size() != w.size()) return 1 / (h - h);
    return magnitude(dot(w, less(reached, final_numbers)) - dot(slope, less(std::move(to), from)));
  });
}

}  // namespace cairn::detail
