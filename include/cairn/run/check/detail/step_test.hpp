// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file step_test.hpp  Compares one step with its adjoint: by central differences, or by a tangent.
#include <cstddef>
#include <optional>
#include <utility>
#include <cairn/core/detail/compiler.hpp>
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

/// Tests steps of a `checked_loop` one by one; writes the results to the loop's report.
class step_test {
 public:
  /// \param directions  number of random directions at each tested step
  step_test(checked_loop& loop, int directions) noexcept : loop_{loop}, directions_{directions} {}

  /// If differences could not decide some step, the first one becomes the report's fault.
  void report_undecided() {
    if (undecided_ < 0) return;
    loop_.fail(adjoint_fault::undecided, undecided_);
    loop_.report().resolution = why_.resolution;
    loop_.report().kink = why_.kink;
  }

  /// Tests step i, and advances x by one step.
  [[gnu::cold]] void run(held_state& x, step_index i) {
    ++loop_.report().steps_tested;
    held_state x1 = loop_.copy(*x);
    loop_.advance(*x1, i);
    if (!repeats(*x, *x1, i)) return;
    auto to = numbers_of(loop_.numbers(*x1));
    for (double number : to)
      if (!finite(number)) return loop_.fail(adjoint_fault::not_finite, i);
    step_numbers const of{*x, *x1, std::move(to), loop_};
    loop_.report().digits = of.bits;
    for (int k = 0; k < directions_ && loop_.report().passed(); ++k)
      if (!test_direction(*x, *x1, of, i)) return;
    x = std::move(x1);
  }

 private:
  /// The numbers of a step's two states, and the magnitudes at which they are varied.
  struct step_numbers {
    reals from, to;
    int bits;
    reals scales, tiny, to_scales;
    magnitudes reach;

    [[gnu::cold]] step_numbers(unnamed_state const& x, unnamed_state const& x1, reals numbers_of_x1, checked_loop& loop)
        : from{numbers_of(loop.numbers(x))},
          to{std::move(numbers_of_x1)},
          bits{bits_of(loop.numbers(x))},
          scales{scales_of(loop.numbers(x))},
          tiny{underflows_of(loop.numbers(x))},
          to_scales{raised(scales_of(loop.numbers(x1)), underflows_of(loop.numbers(x1)), bits)} {
      for (double const scale : raised(scales, tiny, bits)) reach.add(scale);
      for (double const scale : to_scales) reach.add(scale);
    }
  };

  /// Whether step i makes x1 from x again, whatever its target holds. If not, the report says so.
  [[nodiscard, gnu::cold]] bool repeats(unnamed_state const& x, unnamed_state const& x1, step_index i) {
    held_state again = loop_.copy(x);
    loop_.advance(*again, i);
    auto const refuse = [&](adjoint_fault fault) {
      loop_.name(x1, loop_.first_other(x1, *again));
      loop_.fail(fault, i);
      return false;
    };
    if (loop_.first_other(x1, *again) >= 0) return refuse(adjoint_fault::step_not_deterministic);
    if (!loop_.known().out_of_place) return true;
    loop_.refill(*again);
    loop_.run_out_of_place(x, *again, i);
    bool const stale = loop_.first_other(x1, *again) >= 0 || differs_over_first_state(x, x1, again, i);
    return stale ? refuse(adjoint_fault::stale_next_state) : true;
  }
  /// Tests the adjoint along a random direction, with random weights of x1. Returns false if it is infinite, NaN or not
  /// linear in the weights.
  [[nodiscard, gnu::cold]] bool test_direction(unnamed_state const& x, unnamed_state const& x1, step_numbers const& of,
                                    step_index i) {
    reals random(of.scales.size());
    for (double& number : random) number = loop_.random().next();
    auto const along = [&](reals v) {
      for (std::size_t m = 0; m < v.size(); ++m) v[m] *= random[m];
      return v;
    };
    auto const v = along(of.scales);
    auto w = loop_.random_weights(x1, of.to_scales, of.reach);
    // Replaces w by what is left of it after rounding to the adjoint's numbers.
    held_bar const probe = loop_.bar_with(x1, w);
    w = loop_.cut(*probe, w.size());
    auto bar_small = underflows_of(loop_.numbers(*probe));
    bar_small.resize(of.from.size(), bar_small.back());
    int const bar_bits = bits_of(loop_.numbers(*probe));
    reals none(w.size()), twice = w;
    for (double& number : twice) number *= 2;
    // Terms that the adjoint adds on its own, as the derivative of a running objective, are not part of the step's
    // derivative.
    auto const alone = loop_.pulled(x, x1, std::move(none), i),
               doubled = less(loop_.pulled(x, x1, std::move(twice), i), alone);
    auto const once = loop_.pulled(x, x1, w, i), adjoint = less(once, alone);
    auto terms = once;  // magnitudes of the terms whose difference is the adjoint
    for (std::size_t m = 0; m < terms.size(); ++m) terms[m] = magnitude(once[m]) + magnitude(alone[m]);
    double off = 0, most = 0;
    for (std::size_t m = 0; m < of.from.size(); ++m) {
      off += magnitude(doubled[m] - 2 * adjoint[m]) * magnitude(v[m]);
      most +=
          64 * ((magnitude(doubled[m]) + 2 * terms[m]) * power_of_two(-bar_bits) + 2 * bar_small[m]) * magnitude(v[m]);
    }
    if (!finite(most) || off > most) {
      loop_.fail(finite(most) ? adjoint_fault::adjoint_not_linear : adjoint_fault::not_finite, i);
      return false;
    }
    for (std::size_t m = 0; m < terms.size(); ++m)
      terms[m] = terms[m] * power_of_two(2 - bar_bits) + 2 * bar_small[m];
    tested_step const here{x, x1, of.from, of.to, w, adjoint, terms, i};
    if (!loop_.known().tangent) compare_by_differences(here, of, v, along);
    else take(step_comparison{loop_}.by_tangent(here, along(raised(of.scales, of.tiny, of.bits))), here);
    return true;
  }
  [[gnu::cold]] void compare_by_differences(tested_step const& here, step_numbers const& of, reals const& v,
                              call_ref<reals(reals)> along) {
    step_comparison compare{loop_};
    auto found = compare.by_differences(here, v);
    // A choice that was recorded is a constant, and one that the adjoint takes as a function of the state may be right,
    // too, as for a last step that ends at a given time. This can clear an adjoint but never accuse it.
    if (found.fault == adjoint_fault::wrong_adjoint && loop_.known().chooses && !loop_.chooses_at(here.i)) {
      loop_.choose_at(here.i);
      auto const anew = compare.by_differences(here, v);
      if (anew.fault == adjoint_fault::none) found = anew;
      else loop_.repeat_again();
    }
    // Numbers too tiny to be tested at their own magnitude are varied like a number that is 0. This can clear an
    // adjoint but never accuse it, because the step may have a kink between such a number and 0.
    if (found.fault == adjoint_fault::undecided)
      if (auto const wide_v = raised(of.scales, of.tiny, 2 * of.bits); !same(wide_v, of.scales))
        if (auto const farther = compare.by_differences(here, along(wide_v)); farther.fault == adjoint_fault::none)
          return take(farther, here);
    take(found, here);
    if (found.fault == adjoint_fault::wrong_adjoint && here.from.size() <= most_numbers)
      compare.find_number(here, v, found.at.h);
  }
  /// Whether step i makes a result other than x1 from x if its target holds the first tested state, as it may when
  /// frames are reused. Other numbers are tried by `refill`; integers in a target must keep a meaning, because they may
  /// be sizes. \param again  receives that result
  [[nodiscard, gnu::cold]] bool differs_over_first_state(unnamed_state const& x, unnamed_state const& x1,
                                                         held_state& again, step_index i) {
    if (!first_) return first_.emplace(loop_.copy(x)), false;
    if (!loop_.has_capacity_of(x, **first_)) return false;  // such a frame is not reused
    again = loop_.copy(**first_);
    loop_.run_out_of_place(x, *again, i);
    return loop_.differ(x1, *again);
  }

  [[gnu::cold]] void take(step_comparison::verdict const& found, tested_step const& here) {
    if (found.resolution > loop_.report().resolution) loop_.report().resolution = found.resolution;
    if (found.fault == adjoint_fault::none) return;
    if (found.fault == adjoint_fault::undecided) {  // a real fault may still be found
      if (undecided_ < 0) undecided_ = here.i, why_ = found;
      return;
    }
    loop_.fail(found.fault, here.i);
    if (found.fault != adjoint_fault::wrong_adjoint) return;
    loop_.report().by_adjoint = found.at.adjoint / (2 * found.at.h);
    loop_.report().by_differences = found.at.forward / (2 * found.at.h);
    loop_.report().relative_error = found.relative_error;
  }

  static constexpr std::size_t most_numbers = 4096;  // in larger states the worst number is not sought

  checked_loop& loop_;
  int directions_;
  step_index undecided_ = -1;
  step_comparison::verdict why_;
  std::optional<held_state> first_;  // the first tested state, for out-of-place steps
};

}  // namespace cairn::detail
