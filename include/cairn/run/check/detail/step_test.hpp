#pragma once
/// \file step_test.hpp  Compares one step with its adjoint: by central differences, or by a tangent.
#include <cstddef>
#include <optional>
#include <type_traits>
#include <utility>
#include <vector>
#include <cairn/core/detail/same_capacity.hpp>
#include <cairn/core/detail/state_hash.hpp>
#include <cairn/run/check/check_gradient.hpp>
#include <cairn/run/check/detail/magnitudes.hpp>
#include <cairn/run/check/differentiated.hpp>

namespace cairn::detail {

/// Stands for a missing tangent: differences are used.
struct no_tangent {};

/// Tests steps of a `checked_loop` one by one; writes the results to the loop's report.
template <class Loop, class Tangent>
class step_test {
  using State = typename Loop::state_type;
  using Bar = typename Loop::bar_type;
  using Step = typename Loop::step_type;

 public:
  /// \param directions  number of random directions at each tested step
  step_test(Loop& loop, Tangent& tangent, int directions) noexcept
      : loop_{loop}, tangent_{tangent}, directions_{directions} {}

  /// The first step that differences could not decide; -1 if there is none.
  [[nodiscard]] step_index undecided() const noexcept { return undecided_; }

  /// Tests step i, and moves x one step on.
  void run(State& x, step_index i) {
    ++loop_.report().steps_tested;
    State x1 = copy_of(x);
    loop_.advance(x1, i);
    State again = copy_of(x);
    loop_.advance(again, i);
    if (auto const first = first_other_number(x1, again, loop_.all_which()); first >= 0)
      return loop_.name(x1, first), loop_.fail(adjoint_fault::step_not_deterministic, i);
    if constexpr (shape_of_step<Step, State>().form == step_form::out_of_place) {
      loop_.refill(again);
      loop_.run_out_of_place(x, again, i);
      if (auto const first = first_other_number(x1, again, loop_.all_which()); first >= 0)
        return loop_.name(x1, first), loop_.fail(adjoint_fault::stale_next_state, i);
      if (differs_over_first_state(x, x1, again, i))
        return loop_.name(x1, first_other_number(x1, again, loop_.all_which())),
               loop_.fail(adjoint_fault::stale_next_state, i);
    }
    auto const from = numbers_of(x, loop_.which()), to = numbers_of(x1, loop_.which());
    for (double number : to)
      if (!finite(number)) return loop_.fail(adjoint_fault::not_finite, i);
    int const bits = bits_of(x, loop_.which());
    auto const scales = scales_of(x, loop_.which()), tiny = underflows_of(x, loop_.which());
    auto const to_scales = raised(scales_of(x1, loop_.which()), underflows_of(x1, loop_.which()), bits);
    magnitudes reach;
    for (double const scale : raised(scales, tiny, bits)) reach.add(scale);
    for (double const scale : to_scales) reach.add(scale);
    for (int k = 0; k < directions_ && loop_.report().passed(); ++k) {
      std::vector<double> random(scales.size());
      for (double& number : random) number = loop_.random().next();
      auto const along = [&](std::vector<double> v) {
        for (std::size_t m = 0; m < v.size(); ++m) v[m] *= random[m];
        return v;
      };
      auto const v = along(scales);
      auto w = loop_.random_weights(x1, to_scales, reach);
      // Replaces w by what is left of it after rounding to the adjoint's numbers.
      Bar const probe = loop_.bar_with(x1, w);
      w = loop_.cut(probe, w.size());
      auto bar_small = underflows_of(probe, loop_.bar_which());
      bar_small.resize(from.size(), bar_small.back());
      int const bar_bits = bits_of(probe, loop_.bar_which());
      std::vector<double> none(w.size()), twice = w;
      for (double& number : twice) number *= 2;
      // Terms that the adjoint adds on its own, as the derivative of a running objective, are not part of the step's
      // derivative.
      auto const alone = loop_.pulled(x, x1, std::move(none), i),
                 doubled = less(loop_.pulled(x, x1, std::move(twice), i), alone);
      auto const once = loop_.pulled(x, x1, w, i), adjoint = less(once, alone);
      auto terms = once;  // magnitudes of the terms whose difference is the adjoint
      for (std::size_t m = 0; m < terms.size(); ++m) terms[m] = magnitude(once[m]) + magnitude(alone[m]);
      double off = 0, most = 0;
      for (std::size_t m = 0; m < from.size(); ++m) {
        off += magnitude(doubled[m] - 2 * adjoint[m]) * magnitude(v[m]);
        most += 64 * ((magnitude(doubled[m]) + 2 * terms[m]) * power_of_two(-bar_bits) + 2 * bar_small[m]) *
                magnitude(v[m]);
      }
      if (!finite(most)) return loop_.fail(adjoint_fault::not_finite, i);
      if (off > most) return loop_.fail(adjoint_fault::adjoint_not_linear, i);
      for (std::size_t m = 0; m < terms.size(); ++m)
        terms[m] = terms[m] * power_of_two(2 - bar_bits) + 2 * bar_small[m];
      tested_step const here{x, x1, from, to, w, adjoint, terms, i};
      if constexpr (std::is_same_v<Tangent const, no_tangent const>) {
        auto const found = by_differences(here, v);
        // Numbers too tiny to be tested at their own magnitude are varied like a number that is 0. This can clear an
        // adjoint but never accuse it, because the step may have a kink between such a number and 0.
        if (found.fault == adjoint_fault::undecided)
          if (auto const wide_v = raised(scales, tiny, 2 * bits); wide_v != scales)
            if (auto const farther = by_differences(here, along(wide_v)); farther.fault == adjoint_fault::none) {
              take(farther, here);
              continue;
            }
        take(found, here);
        if (found.fault == adjoint_fault::wrong_adjoint && from.size() <= most_numbers)
          find_number(here, v, found.at.h);
      } else take(by_tangent(here, along(raised(scales, tiny, bits))), here);
    }
    x = std::move(x1);
  }

 private:
  /// Whether step i makes a result other than x1 from x if its target holds the first tested state, as it may when
  /// frames are reused. Other numbers are tried by `refill`; integers in a target must keep a meaning, because they may
  /// be sizes. \param again  receives that result
  [[nodiscard]] bool differs_over_first_state(State const& x, State const& x1, State& again, step_index i) {
    if (!first_) return first_.emplace(copy_of(x)), false;
    if (!same_capacity(x, *first_)) return false;  // such a frame is not reused
    again = copy_of(*first_);
    loop_.run_out_of_place(x, again, i);
    if constexpr (hashable<State>) return hash_of(x1) != hash_of(again);
    else return first_other_number(x1, again, loop_.all_which()) >= 0;
  }

  /// Step i from state x to x1, with w pulled back through it. `drift` is the most that rounding may change each number
  /// of the adjoint.
  struct tested_step {
    State const& x;
    State const& x1;
    std::vector<double> const &from, &to, &w, &adjoint, &drift;
    step_index i;
  };
  /// <w, f(x + h v) - f(x - h v)>, and the same by the adjoint.
  struct difference {
    double h = 0, forward = 0, adjoint = 0, terms = 0, bend = 0;  // bend: <w, f(x + h v) - 2 f(x) + f(x - h v)>
    [[nodiscard]] double error() const noexcept { return (forward - adjoint) / (2 * h); }
  };
  struct verdict {
    adjoint_fault fault = adjoint_fault::none;
    difference at;
    double resolution = 0, relative_error = 0;
  };
  void take(verdict const& found, tested_step const& here) {
    if (found.resolution > loop_.report().resolution) loop_.report().resolution = found.resolution;
    if (found.fault == adjoint_fault::none) return;
    if (found.fault == adjoint_fault::undecided) {  // a real fault may still be found
      if (undecided_ < 0) undecided_ = here.i;
      return;
    }
    loop_.fail(found.fault, here.i);
    if (found.fault != adjoint_fault::wrong_adjoint) return;
    loop_.report().by_adjoint = found.at.adjoint / (2 * found.at.h);
    loop_.report().by_differences = found.at.forward / (2 * found.at.h);
    loop_.report().relative_error = found.relative_error;
  }

  /// Central differences at distances from eps^(1/6) to eps^(1/2). Between truncation and rounding there is a distance
  /// where the error changes least; the size of this change is the uncertainty.
  verdict by_differences(tested_step const& here, std::vector<double> const& v) {
    int const bits = bits_of(here.x, loop_.which());
    double const rounding = sum_of_terms(here.w, here.to) * power_of_two(2 - bits) +
                            2 * sum_of_terms(here.w, underflows_of(here.x1, loop_.which()));
    std::vector<difference> all;
    for (int level = bits / 6; level <= bits / 2; level += 2) {
      auto const found = difference_at(here, v, power_of_two(-level));
      if (finite(found.error())) all.push_back(found);  // elsewhere the step is not defined
    }
    if (all.size() < 5) return {adjoint_fault::undecided, {}, 1, 0};
    auto const change = [&](std::size_t k) { return magnitude(all[k].error() - all[k - 1].error()); };
    double noise = rounding;  // times 1/h; estimated from the shortest distances, where only rounding is left
    for (std::size_t k = all.size() - 4; k < all.size(); ++k)
      noise = change(k) * all[k].h > noise ? change(k) * all[k].h : noise;
    auto const doubt = [&](std::size_t k) {
      return change(k) * all[k].h > 2 * noise ? change(k) : 2 * noise / all[k].h;
    };
    double least = doubt(1);
    for (std::size_t k = 2; k < all.size(); ++k) least = doubt(k) < least ? doubt(k) : least;
    // The best result at any distance that is nearly as good as the best counts for the adjoint, because rounding that
    // is the same at several distances looks like an error.
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
      sharp = turn > sharp ? turn : sharp;
      blunt = k == all.size() / 2 || turn < blunt ? turn : blunt;
    }
    if (found.fault == adjoint_fault::wrong_adjoint && sharp < 2 * blunt && magnitude(found.at.error()) < 2 * sharp)
      found.fault = adjoint_fault::undecided;
    return found;
  }
  verdict by_tangent(tested_step const& here, std::vector<double> direction) {
    State dx = copy_of(here.x);
    std::vector<double> none(numbers_of(dx, loop_.all_which()).size());
    set_numbers(dx, none, loop_.all_which());
    set_numbers(dx, direction, loop_.which());
    if constexpr (calls<Tangent, State const&, State&, step_index>) tangent_(here.x, dx, here.i);
    else tangent_(here.x, dx);
    auto const forward = numbers_of(dx, loop_.which());
    difference found;
    found.h = 0.5;
    found.forward = dot(here.w, forward);
    found.terms = sum_of_terms(here.w, forward);
    found.adjoint = dot(here.adjoint, direction);
    if (!finite(found.error())) return {adjoint_fault::not_finite, found, 0, 0};
    double const rounding =
        (found.terms + sum_of_terms(here.adjoint, direction)) * power_of_two(-bits_of(here.x, loop_.which()));
    return judged(found,
                  1024 * (rounding + sum_of_terms(here.w, underflows_of(here.x1, loop_.which())) +
                          sum_of_terms(here.drift, direction)),
                  0);
  }

  difference difference_at(tested_step const& here, std::vector<double> const& v, double h) {
    State ahead = copy_of(here.x), behind = copy_of(here.x);
    auto up = moved(here.from, h, v), down = moved(here.from, -h, v);
    set_numbers(ahead, up, loop_.which());
    set_numbers(behind, down, loop_.which());
    loop_.advance(ahead, here.i);
    loop_.advance(behind, here.i);
    auto const high = numbers_of(ahead, loop_.which()), low = numbers_of(behind, loop_.which());
    if (high.size() != here.w.size() || low.size() != here.w.size()) return {h, 0, 1 / (h - h), 0, 0};
    auto const apart = less(high, low);
    return {h, dot(here.w, apart), dot(here.adjoint, less(std::move(up), down)), sum_of_terms(here.w, apart),
            dot(here.w, less(less(high, here.to), less(here.to, low)))};
  }
  /// \param doubt  errors up to this are ignored   \param least  magnitude below which a sum of terms counts as 0
  static verdict judged(difference const& found, double doubt, double least) {
    double size = found.terms / (2 * found.h);
    if (magnitude(found.adjoint) / (2 * found.h) > size) size = magnitude(found.adjoint) / (2 * found.h);
    double const scale = size > least ? size : least, error = magnitude(found.error());
    double const resolution = scale > 0 ? doubt / scale : 0;
    if (!(error <= doubt)) return {adjoint_fault::wrong_adjoint, found, resolution, error / scale};
    return {doubt > scale / 64 ? adjoint_fault::undecided : adjoint_fault::none, found, resolution, 0};
  }
  void find_number(tested_step const& here, std::vector<double> const& v, double h) {
    double worst = -1;
    std::size_t found_at = 0;
    for (std::size_t k = 0; k < here.from.size(); ++k) {
      std::vector<double> alone(here.from.size());
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

  static constexpr std::size_t most_numbers = 4096;  // in larger states the worst number is not sought

  Loop& loop_;
  Tangent& tangent_;
  int directions_;
  step_index undecided_ = -1;
  std::optional<State> first_;  // the first tested state, for out-of-place steps
};

}  // namespace cairn::detail
