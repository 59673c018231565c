// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file step_comparison.hpp  Compares the adjoint of one step with differences of the step, or with its tangent.
#include <cstddef>
#include <utility>
#include <cairn/core/detail/lesser.hpp>
#include <cairn/run/check/detail/checked_loop.hpp>
#include <cairn/run/check/detail/number_lists.hpp>
#include <cairn/run/check/report.hpp>
#include <cairn/schedule/detail/value_list.hpp>

namespace cairn::detail {

/// Step i from state x to x1, with w pulled back through it. `drift` is the most that rounding may change each number
/// of the adjoint.
struct tested_step {
  unnamed_state const& x;
  unnamed_state const& x1;
  reals const &from, &to, &w, &adjoint, &drift;
  step_index i;
};

/// Decides for one step and one direction whether the adjoint is right.
class step_comparison {
 public:
  /// <w, f(x + h v) - f(x - h v)>, and the same by the adjoint.
  struct difference {
    double h = 0, forward = 0, adjoint = 0, terms = 0, bend = 0;  // bend: <w, f(x + h v) - 2 f(x) + f(x - h v)>
    [[nodiscard]] double error() const noexcept { return (forward - adjoint) / (2 * h); }
  };
  struct verdict {
    adjoint_fault fault = adjoint_fault::none;
    difference at;
    double resolution = 0, relative_error = 0;
    bool kink = false;  // undecided for it
  };

  explicit step_comparison(checked_loop& loop) noexcept : loop_{loop} {}

  /// Central differences at distances from eps^(1/6) to eps^(1/2). Between truncation and rounding there is a distance
  /// where the error changes least; the size of this change is the uncertainty.
  [[gnu::cold]] verdict by_differences(tested_step const& here, reals const& v) {
    int const bits = bits_of(loop_.numbers(here.x));
    double const rounding = sum_of_terms(here.w, here.to) * power_of_two(2 - bits) +
                            2 * sum_of_terms(here.w, underflows_of(loop_.numbers(here.x1)));
    value_list<difference> all;
    for (int level = bits / 6; level <= bits / 2; level += 2) {
      auto const found = difference_at(here, v, power_of_two(-level));
      if (finite(found.error())) all.push_back(found);  // elsewhere the step is not defined
    }
    if (all.size() < 5) return {adjoint_fault::undecided, {}, 1, 0};
    auto const change = [&](std::size_t k) { return magnitude(all[k].error() - all[k - 1].error()); };
    double noise = rounding;  // times 1/h; estimated from the shortest distances, where only rounding is left
    for (std::size_t k = all.size() - 4; k < all.size(); ++k)
      noise = greater(noise, change(k) * all[k].h);
    auto const doubt = [&](std::size_t k) {
      return change(k) * all[k].h > 2 * noise ? change(k) : 2 * noise / all[k].h;
    };
    double least = doubt(1);
    for (std::size_t k = 2; k < all.size(); ++k) least = lesser(least, doubt(k));
    // Among the distances whose uncertainty is nearly the least, the one with the least error counts, in favour of the
    // adjoint: rounding that is the same at several distances looks like an error.
    std::size_t best = 0;
    for (std::size_t k = 1; k < all.size(); ++k) {
      if (doubt(k) > 16 * least) continue;
      if (best == 0 || magnitude(all[k].error()) < magnitude(all[best].error())) best = k;
    }
    auto found = judged(all[best], 64 * (least + sum_of_terms(here.drift, v)), rounding * power_of_two(bits / 2));
    // If the slopes on both sides differ by the same amount at every short distance, the step has a kink at x, and any
    // slope between them is right.
    double sharp = 0, blunt = 0;
    for (std::size_t k = all.size() / 2; k < all.size(); ++k) {
      double const turn = magnitude(all[k].bend) / (2 * all[k].h);
      sharp = greater(sharp, turn);
      blunt = k == all.size() / 2 || turn < blunt ? turn : blunt;
    }
    if (found.fault == adjoint_fault::wrong_adjoint && sharp < 2 * blunt && magnitude(found.at.error()) < 2 * sharp)
      found.fault = adjoint_fault::undecided, found.kink = true;
    return found;
  }
  /// The derivative along a direction by the tangent.
  [[gnu::cold]] verdict by_tangent(tested_step const& here, reals direction) {
    held_state dx = loop_.copy(here.x);
    reals none(count_of(loop_.all_numbers(*dx)));
    set_numbers(loop_.all_numbers(*dx), none);
    set_numbers(loop_.numbers(*dx), direction);
    loop_.take_tangent(here.x, *dx, here.i);
    auto const forward = numbers_of(loop_.numbers(*dx));
    difference found;
    found.h = 0.5;
    found.forward = dot(here.w, forward);
    found.terms = sum_of_terms(here.w, forward);
    found.adjoint = dot(here.adjoint, direction);
    if (!finite(found.error())) return {adjoint_fault::not_finite, found, 0, 0};
    double const rounding =
        (found.terms + sum_of_terms(here.adjoint, direction)) * power_of_two(-bits_of(loop_.numbers(here.x)));
    return judged(found,
                  1024 * (rounding + sum_of_terms(here.w, underflows_of(loop_.numbers(here.x1))) +
                          sum_of_terms(here.drift, direction)),
                  0);
  }
  /// Finds the number of the state whose adjoint has the largest error, and writes it to the report.
  [[gnu::cold]] void find_number(tested_step const& here, reals const& v, double h) {
    double worst = -1;
    std::size_t found_at = 0;
    for (std::size_t k = 0; k < here.from.size(); ++k) {
      reals alone(here.from.size());
      alone[k] = v[k];
      auto const found = difference_at(here, alone, h);
      double const error = magnitude(found.error());
      if (!(error > worst)) continue;
      worst = error;
      found_at = k;
      loop_.report().number_by_adjoint = here.adjoint[k];
      loop_.report().number_by_differences = found.forward / (2 * h * v[k]);
    }
    loop_.name(here.x, loop_.places(here.x)[found_at]);
    loop_.report().left_alone =
        here.adjoint[found_at] == 0 || (found_at < here.w.size() && here.adjoint[found_at] == here.w[found_at]);
  }

 private:
  [[gnu::cold]] difference difference_at(tested_step const& here, reals const& v, double h) {
    held_state ahead = loop_.copy(here.x), behind = loop_.copy(here.x);
    auto up = moved(here.from, h, v), down = moved(here.from, -h, v);
    set_numbers(loop_.numbers(*ahead), up);
    set_numbers(loop_.numbers(*behind), down);
    loop_.advance(*ahead, here.i);
    loop_.advance(*behind, here.i);
    auto const high = numbers_of(loop_.numbers(*ahead)), low = numbers_of(loop_.numbers(*behind));
    if (high.size() != here.w.size() || low.size() != here.w.size()) return {h, 0, 1 / (h - h), 0, 0};
    auto const apart = less(high, low);
    return {h, dot(here.w, apart), dot(here.adjoint, less(std::move(up), down)), sum_of_terms(here.w, apart),
            dot(here.w, less(less(high, here.to), less(here.to, low)))};
  }
  /// \param doubt  errors up to this are ignored   \param least  magnitude below which a sum of terms counts as 0
  [[gnu::cold]] static verdict judged(difference const& found, double doubt, double least) {
    double size = found.terms / (2 * found.h);
    if (magnitude(found.adjoint) / (2 * found.h) > size) size = magnitude(found.adjoint) / (2 * found.h);
    double const scale = greater(least, size), error = magnitude(found.error());
    double const resolution = scale > 0 ? doubt / scale : 0;
    if (!(error <= doubt)) return {adjoint_fault::wrong_adjoint, found, resolution, error / scale};
    return {doubt > scale / 64 ? adjoint_fault::undecided : adjoint_fault::none, found, resolution, 0};
  }

  checked_loop& loop_;
};

}  // namespace cairn::detail
