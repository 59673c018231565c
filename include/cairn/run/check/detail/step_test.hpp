#pragma once
/// \file step_test.hpp  Compares one step with its adjoint: by central differences, or by a tangent.
#include <cstddef>
#include <cstdint>
#include <optional>
#include <type_traits>
#include <utility>
#include <vector>
#include <cairn/core/detail/same_capacity.hpp>
#include <cairn/core/detail/state_hash.hpp>
#include <cairn/run/check/check_gradient.hpp>
#include <cairn/run/check/detail/magnitudes.hpp>
#include <cairn/run/check/detail/step_comparison.hpp>
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
    if (!repeats(x, x1, i)) return;
    auto to = numbers_of(x1, loop_.which());
    for (double number : to)
      if (!finite(number)) return loop_.fail(adjoint_fault::not_finite, i);
    step_numbers const of{x, x1, std::move(to), loop_};
    for (int k = 0; k < directions_ && loop_.report().passed(); ++k)
      if (!test_direction(x, x1, of, i)) return;
    x = std::move(x1);
  }

 private:
  using comparison = step_comparison<Loop, Tangent>;

  /// The numbers of a step's two states, and the magnitudes at which they are varied.
  struct step_numbers {
    std::vector<double> from, to;
    int bits;
    std::vector<double> scales, tiny, to_scales;
    magnitudes reach;

    step_numbers(State const& x, State const& x1, std::vector<double> numbers_of_x1, Loop& loop)
        : from{numbers_of(x, loop.which())},
          to{std::move(numbers_of_x1)},
          bits{bits_of(x, loop.which())},
          scales{scales_of(x, loop.which())},
          tiny{underflows_of(x, loop.which())},
          to_scales{raised(scales_of(x1, loop.which()), underflows_of(x1, loop.which()), bits)} {
      for (double const scale : raised(scales, tiny, bits)) reach.add(scale);
      for (double const scale : to_scales) reach.add(scale);
    }
  };

  /// Whether step i makes x1 of x again, whatever its target holds. If not, the report says so.
  [[nodiscard]] bool repeats(State const& x, State const& x1, step_index i) {
    State again = copy_of(x);
    loop_.advance(again, i);
    auto const refuse = [&](adjoint_fault fault, std::int64_t first) {
      loop_.name(x1, first);
      loop_.fail(fault, i);
      return false;
    };
    if (auto const first = first_other_number(x1, again, loop_.all_which()); first >= 0)
      return refuse(adjoint_fault::step_not_deterministic, first);
    if constexpr (shape_of_step<Step, State>().form == step_form::out_of_place) {
      loop_.refill(again);
      loop_.run_out_of_place(x, again, i);
      if (auto const first = first_other_number(x1, again, loop_.all_which()); first >= 0)
        return refuse(adjoint_fault::stale_next_state, first);
      if (differs_over_first_state(x, x1, again, i))
        return refuse(adjoint_fault::stale_next_state, first_other_number(x1, again, loop_.all_which()));
    }
    return true;
  }
  /// Tests the adjoint along a random direction, with random weights of x1. Returns false if it is infinite, NaN or not
  /// linear in the weights.
  [[nodiscard]] bool test_direction(State const& x, State const& x1, step_numbers const& of, step_index i) {
    std::vector<double> random(of.scales.size());
    for (double& number : random) number = loop_.random().next();
    auto const along = [&](std::vector<double> v) {
      for (std::size_t m = 0; m < v.size(); ++m) v[m] *= random[m];
      return v;
    };
    auto const v = along(of.scales);
    auto w = loop_.random_weights(x1, of.to_scales, of.reach);
    // Replaces w by what is left of it after rounding to the adjoint's numbers.
    Bar const probe = loop_.bar_with(x1, w);
    w = loop_.cut(probe, w.size());
    auto bar_small = underflows_of(probe, loop_.bar_which());
    bar_small.resize(of.from.size(), bar_small.back());
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
    tested_step<State> const here{x, x1, of.from, of.to, w, adjoint, terms, i};
    if constexpr (std::is_same_v<Tangent const, no_tangent const>) compare_by_differences(here, of, v, along);
    else take(comparison{loop_, tangent_}.by_tangent(here, along(raised(of.scales, of.tiny, of.bits))), here);
    return true;
  }
  template <class Along>
  void compare_by_differences(tested_step<State> const& here, step_numbers const& of, std::vector<double> const& v,
                              Along const& along) {
    comparison compare{loop_, tangent_};
    auto const found = compare.by_differences(here, v);
    // Numbers too tiny to be tested at their own magnitude are varied like a number that is 0. This can clear an
    // adjoint but never accuse it, because the step may have a kink between such a number and 0.
    if (found.fault == adjoint_fault::undecided)
      if (auto const wide_v = raised(of.scales, of.tiny, 2 * of.bits); wide_v != of.scales)
        if (auto const farther = compare.by_differences(here, along(wide_v)); farther.fault == adjoint_fault::none)
          return take(farther, here);
    take(found, here);
    if (found.fault == adjoint_fault::wrong_adjoint && here.from.size() <= most_numbers)
      compare.find_number(here, v, found.at.h);
  }
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

  void take(typename comparison::verdict const& found, tested_step<State> const& here) {
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

  static constexpr std::size_t most_numbers = 4096;  // in larger states the worst number is not sought

  Loop& loop_;
  Tangent& tangent_;
  int directions_;
  step_index undecided_ = -1;
  std::optional<State> first_;  // the first tested state, for out-of-place steps
};

}  // namespace cairn::detail
