#pragma once
/// \file check_adjoint.hpp  Whether an adjoint is the adjoint of its step, told before it is believed. For tests, and not in <cairn/cairn.hpp>.
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <type_traits>
#include <utility>
#include <vector>
#include <cairn/core/detail/checks.hpp>
#include <cairn/run/check/check_gradient.hpp>
#include <cairn/run/check/differentiated.hpp>
#include <cairn/run/gradient.hpp>

namespace cairn {

/// How much `check_adjoint` does.
struct check_options {
  step_index most_steps = 64;     ///< steps tested: all of a loop of no more, else as many spread over it, the first and the last among them
  int directions = 2;             ///< random directions at each tested step
  std::uint64_t random_seed = 1;  ///< the same directions for the same seed
  bool whole = true;              ///< whether the Taylor remainder of the whole gradient is tested, too
};

/// A step with its tangent, to be checked with: `tangent(x, dx, i)` makes of dx, a State that holds a direction, the step's derivative at
/// x times it.
template <class Step, class Tangent>
struct with_tangent {
  Step step;        ///< in any form
  Tangent tangent;  ///< `tangent(x, dx, i)`
};
/// Its types are those of what it is made of.
template <class Step, class Tangent>
with_tangent(Step, Tangent) -> with_tangent<Step, Tangent>;

namespace detail {

struct state_is_bar {};
struct no_tangent {};

template <class F>
inline constexpr bool has_tangent = false;
template <class Step, class Tangent>
inline constexpr bool has_tangent<with_tangent<Step, Tangent>> = true;
template <class F>
[[nodiscard]] constexpr auto& step_within(F& f) {
  if constexpr (has_tangent<std::remove_const_t<F>>) return f.step;
  else return f;
}

/// Whether the host cannot read the numbers of `T`, or of a part of it.
template <class T>
inline constexpr bool numbers_on_device = on_device<T>() && !numbered<T>;

/// \tparam Which  which numbers of a state are differentiated; the same of an adjoint that is a State, and of others the first ones
template <class State, class Bar, class Step, class Tangent, class Adjoint, class Seed, class Which>
class adjoint_check {
  static constexpr bool bar_is_state = std::is_same_v<Bar, State>;
  using which_of_bar = std::conditional_t<bar_is_state, Which, every_number>;
  using which_of_all = std::conditional_t<numbered<State>, every_number, Which>;

 public:
  adjoint_check(Step& step, Tangent& tangent, Adjoint& adjoint, Seed& seed, Which const& which, check_options const& options)
      : step_{step}, tangent_{tangent}, adjoint_{adjoint}, seed_{seed}, which_{which}, options_{options}, random_{options.random_seed} {}

  adjoint_report run(State const& x0, step_index n) {
    report_.steps = n;
    if constexpr (requires { requires Which::has_part; } && numbered<State>) which_.part = n > 0 && numbers_of(made_bar(x0)).size() < numbers_of(x0).size();
    if (numbers_of(x0, which_).empty())
      throw invalid_call{"cairn::check_adjoint", "the initial state has no floating-point numbers", {}, "there is nothing to vary"};
    list_undifferentiated(x0);
    State x = copy_of(x0);
    step_index const tested = n < options_.most_steps ? n : options_.most_steps;
    visit(x, 0);
    for (step_index i = 0; i < n && report_.passed(); ++i) {
      // The k-th tested step is floor(k (n - 1) / (tested - 1)).
      step_index const k = report_.steps_tested;
      bool const due = k < tested && (tested == n || wide(k) * wide(n - 1) / wide(tested > 1 ? tested - 1 : 1) == wide(i));
      if (due) test_step(x, i);
      else advance(x, i);
      visit(x, i + 1);
    }
    if (report_.passed() && n > 0 && options_.whole) {
      if (last_normal_ >= 0 && last_normal_ < n) {
        x = copy_of(x0);
        for (step_index i = 0; i < last_normal_; ++i) advance(x, i);
      }
      test_whole(x0, x, last_normal_ >= 0 ? last_normal_ : n);
    }
    if (report_.passed() && undecided_ >= 0) fail(adjoint_fault::undecided, undecided_);
    report_.put_in_words("cairn::check_adjoint");
    return report_;
  }

 private:
  void fail(adjoint_fault fault, step_index i) {
    report_.fault = fault;
    report_.step = i;
  }
  void advance(State& x, step_index i) {
    static constexpr auto shape = shape_of_step<Step, State>();
    ++report_.step_calls;
    if constexpr (shape.form == step_form::in_place) {
      step_index failed = i;
      run_in_place(step_, x, i, i + 1, failed);
    } else {
      State const from = copy_of(x);
      if constexpr (shape.form == step_form::by_value) {
        if constexpr (shape.indexed) x = call_lending(step_, from, std::as_const(i));
        else x = call_lending(step_, from);
      } else if constexpr (shape.indexed) call_lending(step_, from, x, std::as_const(i));
      else call_lending(step_, from, x);
    }
  }
  /// bar of state i+1 becomes that of state i.
  void pull(State const& x, Bar& bar, step_index i) {
    static constexpr auto shape = shape_of_adjoint<Adjoint, State, Bar>();
    if constexpr (shape.form == adjoint_form::recorded) {
      State moving = copy_of(x);
      auto tape = record_step(adjoint_.record, moving, i);
      if constexpr (shape.reverse_indexed) pull_back(adjoint_.reverse, bar, tape, bar, std::as_const(i));
      else pull_back(adjoint_.reverse, bar, tape, bar);
    } else if constexpr (shape.form == adjoint_form::with_next) {
      State next = copy_of(x);
      advance(next, i);
      pull_back(adjoint_, bar, x, std::as_const(next), bar, std::as_const(i));
    } else if constexpr (shape.form == adjoint_form::leaf) {
      step_index const after = i + 1;
      pull_back(adjoint_, bar, x, bar, std::as_const(i), after);
    } else if constexpr (shape.indexed) pull_back(adjoint_, bar, x, bar, std::as_const(i));
    else pull_back(adjoint_, bar, x, bar);
  }
  Bar made_bar(State const& x) {
    std::optional<Bar> bar;
    if constexpr (std::is_same_v<Seed const, state_is_bar const>) bar.emplace(copy_of(x));
    else if constexpr (seed_function<Seed, State>) emplace_by(bar, [&] { return taken_out_by([&]() -> decltype(auto) { return call_lending(seed_, x); }); });
    else bar.emplace(copy_of(seed_));
    return std::move(*bar);
  }
  /// An adjoint of state x whose numbers, as many as are differentiated in x, are w. A constant's are 0.
  Bar bar_with(State const& x, std::vector<double> w) {
    Bar bar = made_bar(x);
    (void)cut(bar, w.size());
    if constexpr (bar_is_state) {
      std::vector<double> none(numbers_of(bar, all_which()).size());
      set_numbers(bar, none, all_which());
    }
    set_numbers(bar, w, bar_which());
    return bar;
  }
  /// What the adjoint of step i makes of bar = w, cut to the numbers of x.
  std::vector<double> pulled(State const& x, State const& x1, std::vector<double> w, step_index i) {
    Bar bar = bar_with(x1, std::move(w));
    pull(x, bar, i);
    return cut(bar, numbers_of(x, which_).size());
  }
  /// Its numbers which are those of the state's adjoint.
  std::vector<double> cut(Bar const& bar, std::size_t size) const {
    auto all = numbers_of(bar, bar_which());
    if (all.size() < size)
      throw invalid_call{"cairn::check_adjoint", "the adjoint has fewer floating-point numbers than the state", {{"adjoint", all.size()}, {"state", size}},
                         "its first ones must be those of the state's adjoint, in the state's order; name the state's constants in cairn::with_constants{x0, &state::t}"};
    all.resize(size);
    return all;
  }
  [[nodiscard]] which_of_bar bar_which() const {
    if constexpr (bar_is_state) return which_;
    else return {};
  }
  [[nodiscard]] which_of_all all_which() const {
    if constexpr (numbered<State>) return {};
    else return which_;
  }
  void list_undifferentiated(State const& x0) {
    auto const places = places_of(x0, which_);
    report_.numbers = std::int64_t(numbers_at(x0, all_which()).size());
    std::int64_t next = 0;
    auto const leave_out = [&](std::int64_t end) {
      if (next < end) report_.undifferentiated.push_back({next, end - next, member_with(x0, next), member_with(x0, end - 1)});
    };
    for (std::int64_t const place : places) {
      leave_out(place);
      next = place + 1;
    }
    leave_out(report_.numbers);
    has_constants_ = !numbered<State> || !report_.undifferentiated.empty();
  }
  void name(State const& x, std::int64_t number) {
    report_.number = number;
    report_.member = number < 0 ? -1 : member_with(x, number);
  }
  /// Notes how large and how tiny numbers get along the loop, and the last state that has one with all its bits.
  void visit(State const& x, step_index i) {
    which_(x, [&](auto const* run, std::size_t count) {
      using T = std::remove_cvref_t<decltype(*run)>;
      constexpr int bits = std::numeric_limits<T>::digits < std::numeric_limits<double>::digits ? std::numeric_limits<T>::digits : std::numeric_limits<double>::digits;
      double const normal = underflow_of<T>() * power_of_two(bits);
      for (std::size_t k = 0; k < count; ++k) {
        double const size = magnitude(double(run[k]));
        if (!(size > 0) || !finite(size)) continue;
        met_.add(size);
        if (size >= normal) last_normal_ = i;
      }
    });
    if (last_normal_ == i) span_ = met_;
  }

  static constexpr int most_terms = std::numeric_limits<double>::max_exponent - 2 * std::numeric_limits<double>::digits;
  /// Magnitudes from the least to the most.
  struct span {
    double least = 0, most = 0;
    void add(double size) noexcept {
      if (least == 0 || size < least) least = size;
      if (size > most) most = size;
    }
    /// Magnitudes below this have no adjoint within numbers of 2^-range to 2^range beside that of the most.
    [[nodiscard]] double least_within(int range) const noexcept {
      if (least == 0) return 0;
      int const low = exponent_of(least), lowest = exponent_of(most) - 2 * range;
      return power_of_two(low > lowest ? low : lowest);
    }
    /// What the terms of an adjoint of such states sum to, so that it is large beside what an objective of the same magnitude adds to it on
    /// the way, and stays within numbers of 2^-range to 2^range.
    [[nodiscard]] double of_terms(int range) const noexcept {
      if (least == 0) return 1;
      int const low = exponent_of(least_within(range)), high = exponent_of(most);
      int wanted = high > 0 ? 2 * high : 0;
      if (wanted < high - range) wanted = high - range;
      if (wanted > low + range) wanted = low + range;
      return power_of_two(wanted > most_terms ? most_terms : wanted < -most_terms ? -most_terms : wanted);
    }
  };
  /// Scales below `limits` times 2^bits raised to that.
  static std::vector<double> raised(std::vector<double> scales, std::vector<double> const& limits, int bits) {
    for (std::size_t k = 0; k < scales.size(); ++k)
      if (double const least = limits[k] * power_of_two(bits); scales[k] < least) scales[k] = least;
    return scales;
  }
  /// An adjoint for numbers of these scales, all of its terms of one magnitude. \param reach  magnitudes of the states that it is led through
  std::vector<double> random_weights(State const& x, std::vector<double> scales, span const& reach) {
    int range = most_terms;
    Bar const sample = made_bar(x);
    bar_which()(sample, [&](auto const* run, std::size_t) {
      constexpr int own = std::numeric_limits<std::remove_cvref_t<decltype(*run)>>::max_exponent / 8 * 7;
      range = own < range ? own : range;
    });
    double const terms = reach.of_terms(range), least = reach.least_within(range);
    for (double& scale : scales) scale = random_.next() * (terms / (scale < least ? least : scale));
    return scales;
  }

  void test_step(State& x, step_index i) {
    ++report_.steps_tested;
    State x1 = copy_of(x);
    advance(x1, i);
    State again = copy_of(x);
    advance(again, i);
    if (auto const first = first_other_number(x1, again, all_which()); first >= 0) return name(x1, first), fail(adjoint_fault::step_not_deterministic, i);
    if constexpr (shape_of_step<Step, State>().form == step_form::out_of_place) {
      refill(again);
      run_out_of_place(x, again, i);
      if (auto const first = first_other_number(x1, again, all_which()); first >= 0) return name(x1, first), fail(adjoint_fault::stale_next_state, i);
    }
    auto const from = numbers_of(x, which_), to = numbers_of(x1, which_);
    for (double number : to)
      if (!finite(number)) return fail(adjoint_fault::not_finite, i);
    int const bits = bits_of(x, which_);
    auto const scales = scales_of(x, which_), tiny = underflows_of(x, which_);
    auto const to_scales = raised(scales_of(x1, which_), underflows_of(x1, which_), bits);
    span reach;
    for (double const scale : raised(scales, tiny, bits)) reach.add(scale);
    for (double const scale : to_scales) reach.add(scale);
    for (int k = 0; k < options_.directions && report_.passed(); ++k) {
      std::vector<double> random(scales.size());
      for (double& number : random) number = random_.next();
      auto const along = [&](std::vector<double> v) {
        for (std::size_t m = 0; m < v.size(); ++m) v[m] *= random[m];
        return v;
      };
      auto const v = along(scales);
      auto w = random_weights(x1, to_scales, reach);
      // Kept in w is what the adjoint's numbers can hold of it.
      Bar const probe = bar_with(x1, w);
      w = cut(probe, w.size());
      auto bar_small = underflows_of(probe, bar_which());
      bar_small.resize(from.size(), bar_small.back());
      int const bar_bits = bits_of(probe, bar_which());
      std::vector<double> none(w.size()), twice = w;
      for (double& number : twice) number *= 2;
      // What it adds by itself, as the derivative of a running objective, is no part of the step's derivative.
      auto const alone = pulled(x, x1, std::move(none), i), doubled = less(pulled(x, x1, std::move(twice), i), alone);
      auto const once = pulled(x, x1, w, i), adjoint = less(once, alone);
      auto terms = once;  // of which the adjoint is the difference
      for (std::size_t m = 0; m < terms.size(); ++m) terms[m] = magnitude(once[m]) + magnitude(alone[m]);
      double off = 0, most = 0;
      for (std::size_t m = 0; m < from.size(); ++m) {
        off += magnitude(doubled[m] - 2 * adjoint[m]) * magnitude(v[m]);
        most += 64 * ((magnitude(doubled[m]) + 2 * terms[m]) * power_of_two(-bar_bits) + 2 * bar_small[m]) * magnitude(v[m]);
      }
      if (!finite(most)) return fail(adjoint_fault::not_finite, i);
      if (off > most) return fail(adjoint_fault::adjoint_not_linear, i);
      for (std::size_t m = 0; m < terms.size(); ++m) terms[m] = terms[m] * power_of_two(2 - bar_bits) + 2 * bar_small[m];
      tested_step const here{x, x1, from, to, w, adjoint, terms, i};
      if constexpr (std::is_same_v<Tangent const, no_tangent const>) {
        auto const found = by_differences(here, v);
        // Numbers too tiny for their own magnitude to tell are varied like a number that is 0: that can clear an adjoint, and never accuse
        // it, for between such a number and 0 the step may have a kink.
        if (found.fault == adjoint_fault::undecided)
          if (auto const wide_v = raised(scales, tiny, 2 * bits); wide_v != scales)
            if (auto const farther = by_differences(here, along(wide_v)); farther.fault == adjoint_fault::none) {
              take(farther, here);
              continue;
            }
        take(found, here);
        if (found.fault == adjoint_fault::wrong_adjoint && from.size() <= most_numbers) find_number(here, v, found.at.h);
      } else take(by_tangent(here, along(raised(scales, tiny, bits))), here);
    }
    x = std::move(x1);
  }
  void run_out_of_place(State const& x, State& x1, step_index i) {
    ++report_.step_calls;
    if constexpr (shape_of_step<Step, State>().indexed) call_lending(step_, x, x1, std::as_const(i));
    else call_lending(step_, x, x1);
  }
  /// Another number of the same sign and magnitude in the place of each.
  void refill(State& x) const {
    constexpr double golden = 1.6180339887498949;
    auto others = numbers_of(x, all_which());
    for (double& number : others) number = number != 0 && finite(number) ? golden * number : golden;
    set_numbers(x, others, all_which());
  }

  /// Step i from state x to x1, with w pulled back through it. `drift` is what rounding may make of each number of the adjoint.
  struct tested_step {
    State const& x;
    State const& x1;
    std::vector<double> const &from, &to, &w, &adjoint, &drift;
    step_index i;
  };
  /// <w, f(x + h v) - f(x - h v)> and the same by the adjoint.
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
    if (found.resolution > report_.resolution) report_.resolution = found.resolution;
    if (found.fault == adjoint_fault::none) return;
    if (found.fault == adjoint_fault::undecided) {  // something may still be found that is wrong
      if (undecided_ < 0) undecided_ = here.i;
      return;
    }
    fail(found.fault, here.i);
    if (found.fault != adjoint_fault::wrong_adjoint) return;
    report_.by_adjoint = found.at.adjoint / (2 * found.at.h);
    report_.by_differences = found.at.forward / (2 * found.at.h);
    report_.relative_error = found.relative_error;
  }

  /// Central differences at distances from eps^(1/6) to eps^(1/2): between truncation and rounding there is a distance where the error
  /// changes least, and what it changes by there is what cannot be trusted.
  verdict by_differences(tested_step const& here, std::vector<double> const& v) {
    int const bits = bits_of(here.x, which_);
    double const rounding = sum_of_terms(here.w, here.to) * power_of_two(2 - bits) + 2 * sum_of_terms(here.w, underflows_of(here.x1, which_));
    std::vector<difference> all;
    for (int level = bits / 6; level <= bits / 2; level += 2) {
      auto const found = difference_at(here, v, power_of_two(-level));
      if (finite(found.error())) all.push_back(found);  // elsewhere the step is not defined
    }
    if (all.size() < 5) return {adjoint_fault::undecided, {}, 1, 0};
    auto const change = [&](std::size_t k) { return magnitude(all[k].error() - all[k - 1].error()); };
    double noise = rounding;  // times 1/h: what the shortest distances tell, where nothing else is left
    for (std::size_t k = all.size() - 4; k < all.size(); ++k) noise = change(k) * all[k].h > noise ? change(k) * all[k].h : noise;
    auto const doubt = [&](std::size_t k) { return change(k) * all[k].h > 2 * noise ? change(k) : 2 * noise / all[k].h; };
    double least = doubt(1);
    for (std::size_t k = 2; k < all.size(); ++k) least = doubt(k) < least ? doubt(k) : least;
    // Any distance nearly as good as the best may speak for the adjoint: rounding that is the same at several distances looks like an error.
    std::size_t best = 0;
    for (std::size_t k = 1; k < all.size(); ++k) {
      if (doubt(k) > 16 * least) continue;
      if (best == 0 || magnitude(all[k].error()) < magnitude(all[best].error())) best = k;
    }
    auto found = judged(all[best], 64 * (least + sum_of_terms(here.drift, v)), rounding * power_of_two(bits / 2));
    // Where the slopes to both sides differ by the same at every short distance, the step has a kink at x, and any slope between them is right.
    double sharp = 0, blunt = 0;
    for (std::size_t k = all.size() / 2; k < all.size(); ++k) {
      double const turn = magnitude(all[k].bend) / (2 * all[k].h);
      sharp = turn > sharp ? turn : sharp;
      blunt = k == all.size() / 2 || turn < blunt ? turn : blunt;
    }
    if (found.fault == adjoint_fault::wrong_adjoint && sharp < 2 * blunt && magnitude(found.at.error()) < 2 * sharp) found.fault = adjoint_fault::undecided;
    return found;
  }
  verdict by_tangent(tested_step const& here, std::vector<double> direction) {
    State dx = copy_of(here.x);
    set_numbers(dx, direction, which_);
    if constexpr (calls<Tangent, State const&, State&, step_index>) tangent_(here.x, dx, here.i);
    else tangent_(here.x, dx);
    auto const forward = numbers_of(dx, which_);
    difference found;
    found.h = 0.5;
    found.forward = dot(here.w, forward);
    found.terms = sum_of_terms(here.w, forward);
    found.adjoint = dot(here.adjoint, direction);
    if (!finite(found.error())) return {adjoint_fault::not_finite, found, 0, 0};
    double const rounding = (found.terms + sum_of_terms(here.adjoint, direction)) * power_of_two(-bits_of(here.x, which_));
    return judged(found, 1024 * (rounding + sum_of_terms(here.w, underflows_of(here.x1, which_)) + sum_of_terms(here.drift, direction)), 0);
  }

  difference difference_at(tested_step const& here, std::vector<double> const& v, double h) {
    State ahead = copy_of(here.x), behind = copy_of(here.x);
    auto up = moved(here.from, h, v), down = moved(here.from, -h, v);
    set_numbers(ahead, up, which_);
    set_numbers(behind, down, which_);
    advance(ahead, here.i);
    advance(behind, here.i);
    auto const high = numbers_of(ahead, which_), low = numbers_of(behind, which_);
    if (high.size() != here.w.size() || low.size() != here.w.size()) return {h, 0, 1 / (h - h), 0, 0};
    auto const apart = less(high, low);
    return {h, dot(here.w, apart), dot(here.adjoint, less(std::move(up), down)), sum_of_terms(here.w, apart), dot(here.w, less(less(high, here.to), less(here.to, low)))};
  }
  /// \param doubt  errors up to this mean nothing   \param least  magnitude below which a sum of terms counts as 0
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
      report_.number_by_adjoint = here.adjoint[k];
      report_.number_by_differences = found.forward / (2 * h * v[k]);
    }
    name(here.x, places_of(here.x, which_)[found_at]);
    report_.left_alone = here.adjoint[found_at] == 0 || (found_at < here.w.size() && here.adjoint[found_at] == here.w[found_at]);
  }

  /// The step of a loop that has begun: its records are to be repeated.
  decltype(auto) begun_step() {
    if constexpr (told_of_loops<Step>) return in_place([this](State& x, step_index i) { step_(x, i); });
    else return (step_);
  }
  /// The first n steps: all, or where nothing is left in the end but numbers too tiny to have all their bits, those before.
  void test_whole(State const& x0, State const& last, step_index n) {
    int bits = bits_of(x0, which_);
    auto const from = numbers_of(x0, which_), final_numbers = numbers_of(last, which_);
    auto const scales = scales_of(x0, which_), v = random_direction(random_, scales);
    auto w = random_weights(last, raised(scales_of(last, which_), underflows_of(last, which_), bits), last_normal_ >= 0 ? span_ : met_);
    Bar const probe = bar_with(last, w);
    w = cut(probe, w.size());
    int const bar_bits = bits_of(probe, bar_which());
    bits = bar_bits < bits ? bar_bits : bits;
    // What numbers too tiny to have all their bits may be off by, on the way there and back, changes the sum and its derivative by this.
    double lost = 2 * sum_of_terms(w, underflows_of(last, which_)), lost_rate = 0;
    auto const noting = [&](State const& x, Bar& bar, step_index i) {
      pull(x, bar, i);
      auto const tiny = underflows_of(x, which_);
      lost += 2 * sum_of_terms(cut(bar, tiny.size()), tiny);
      lost_rate += 2 * sum_of_terms(underflows_of(bar, bar_which()), scales_of(x, which_));
    };
    auto const once = cut(gradient(begun_step(), copy_of(x0), n, bar_with(last, w), noting), from.size());
    auto const alone = cut(gradient(begun_step(), copy_of(x0), n, bar_with(last, std::vector<double>(w.size())), adjoint_), from.size());
    auto const slope = less(once, alone);
    double const rate = (sum_of_terms(once, v) + sum_of_terms(alone, v)) * power_of_two(-bits / 2) + lost_rate;
    taylor_test(report_, bits, sum_of_terms(w, final_numbers) * power_of_two(1 - bits) + lost, rate, [&](double h) {
      State x = copy_of(x0);
      auto to = moved(from, h, v);
      set_numbers(x, to, which_);
      if (has_constants_) run_beside(x, copy_of(x0), n);
      else
        for (step_index i = 0; i < n; ++i) advance(x, i);
      auto const reached = numbers_of(x, which_);
      if (reached.size() != w.size()) return 1 / (h - h);
      return magnitude(dot(w, less(reached, final_numbers)) - dot(slope, less(std::move(to), from)));
    });
  }

  /// x through n steps, with what is not differentiated taken from another run: no derivative goes through it.
  void run_beside(State& x, State other, step_index n) {
    for (step_index i = 0; i < n; ++i) {
      advance(x, i);
      advance(other, i);
      auto own = numbers_of(x, which_);
      x = copy_of(other);
      if (own.size() == numbers_at(x, which_).size()) set_numbers(x, own, which_);
    }
  }

  static constexpr std::size_t most_numbers = 4096;  // of a state whose worst number is looked for, two steps a number

  Step& step_;
  Tangent& tangent_;
  Adjoint& adjoint_;
  Seed& seed_;
  Which which_;
  check_options options_;
  random_numbers random_;
  adjoint_report report_;
  span met_, span_;  // magnitudes of numbers in all states, in those up to the last normal one
  step_index last_normal_ = -1;  // the last state that has a number with all its bits
  bool has_constants_ = false;   // parts of the state that are not differentiated
  step_index undecided_ = -1;    // the first step that differences could not decide about
};

}  // namespace detail

/// Whether `adjoint` is the adjoint of `step` along the loop from x0: the first wrong step, and how wrong it is, without a word of trust.
///
/// At every tested step: the step gives the same bits twice, also where a step (x, x1, i) finds other numbers in x1; what the adjoint
/// makes of bar is linear in it; and <adjoint(w), v> is <w, derivative times v> for random v and w, by central differences with an error
/// estimate, or by the tangent of `with_tangent{step, tangent}`. Then the Taylor remainder of the whole gradient must fall with the square
/// of the distance. What the adjoint adds to bar by itself (the derivative of a running objective) is taken out first, and parameters are
/// not varied: see `check_gradient` for both. Adjoints that sum into an object of the user's do so here, too.
///
/// Varied are all numbers of the state that `visit_numbers` hands out, and the adjoint's first numbers are theirs, in the same order. An
/// adjoint with fewer numbers, of the type of one member of the state, belongs to that member. Constants of the loop are named in
/// `with_constants{x0, &state::t}`. What is not varied is listed in `report.undifferentiated`; no derivative goes through it.
///
/// Numbers too tiny to have all their bits, or to be told from 0, are judged by what arithmetic may be off by there: a right adjoint is not
/// called wrong for it. Where neither their own distances nor larger ones decide, the step is undecided, as it is at a kink, and the check
/// goes on. The whole gradient is then that by the last state with a number that has all its bits.
/// \param x0  the initial state, or `with_constants{x0, ...}`
/// \param n  steps, 0 or more   \param seed  an adjoint or `seed(x)`, for its type and shape. By default the adjoint is a State
/// Cost: n steps in the loop, and n for each of about 20 distances (9 for floats; twice with constants) and a `gradient` twice if
/// `options.whole`; at each tested step and direction about 20 steps and 3 adjoints; about 6 states of memory beside those of `gradient`.
/// \throws invalid_plan  for n < 0   \throws invalid_call  where there is nothing to vary or the adjoint is too tiny; and what user code throws
template <class Step, class Adjoint, class X0, class Seed>
[[nodiscard]] adjoint_report check_adjoint(Step&& step, Adjoint&& adjoint, X0 const& x0, step_index n, Seed&& seed, check_options const& options) {
  using State = typename detail::state_within<X0>::type;
  using StepF = std::remove_reference_t<decltype(detail::step_within(step))>;
  using AdjointF = std::remove_reference_t<Adjoint>;
  using SeedF = std::remove_reference_t<Seed>;
  constexpr bool copies = copied_state<State> || !state<State>;
  static_assert(copies, "cairn: check_adjoint varies copies of the state, and this state cannot be copied; check the step on a state that can");
  constexpr bool on_host = !detail::numbers_on_device<State>;
  static_assert(on_host,
                "cairn: check_adjoint varies the numbers of states on the host, and those of this one lie in device memory; let step and adjoint take a "
                "state in host memory, too, and check them there");
  constexpr bool in_members = !detail::has_constants<X0> || detail::named_in_members<State>;
  static_assert(in_members,
                "cairn: with_constants names members of an aggregate, and this state cannot be taken apart into members; let its visit_numbers(f) hand "
                "out what is differentiated");
  if constexpr (!copies || !on_host || !in_members || !detail::check_forward<StepF, State, step_index>()) return {};
  else {
    using Bar = typename std::conditional_t<std::is_same_v<std::remove_const_t<SeedF>, detail::state_is_bar>, std::type_identity<State>, detail::bar_of<SeedF, State>>::type;
    constexpr bool bar_on_host = !detail::numbers_on_device<Bar>;
    static_assert(bar_on_host,
                  "cairn: check_adjoint reads the numbers of adjoints on the host, and those of this one lie in device memory; let step and adjoint "
                  "take adjoints in host memory, too, and check them there");
    if constexpr (!bar_on_host || !detail::check_adjoint<AdjointF, State, Bar>()) return {};
    else {
      if (n < 0) throw invalid_plan{"cairn::check_adjoint", "the number of steps is negative", {{"steps", n}}, "use 0 or more"};
      auto const check = [&](auto& tangent) {
        auto const run = [&](auto which, State const& initial) {
          using check_type = detail::adjoint_check<State, Bar, StepF, std::remove_reference_t<decltype(tangent)>, AdjointF, SeedF, decltype(which)>;
          return check_type{detail::step_within(step), tangent, adjoint, seed, which, options}.run(initial, n);
        };
        if constexpr (detail::has_constants<X0>) return run(detail::numbers_but{x0.constants}, x0.x0);
        else return run(detail::numbers_by_adjoint<State, Bar>{}, x0);
      };
      if constexpr (detail::has_tangent<std::remove_cvref_t<Step>>) return check(step.tangent);
      else {
        detail::no_tangent none;
        return check(none);
      }
    }
  }
}
/// The same for an adjoint that is a State.
template <class Step, class Adjoint, class X0>
[[nodiscard]] adjoint_report check_adjoint(Step&& step, Adjoint&& adjoint, X0 const& x0, step_index n, check_options const& options = {}) {
  return check_adjoint(std::forward<Step>(step), std::forward<Adjoint>(adjoint), x0, n, detail::state_is_bar{}, options);
}
/// The same with `check_options{}`.
template <class Step, class Adjoint, class X0, class Seed>
  requires(!std::is_same_v<std::remove_cvref_t<Seed>, check_options>)
[[nodiscard]] adjoint_report check_adjoint(Step&& step, Adjoint&& adjoint, X0 const& x0, step_index n, Seed&& seed) {
  return check_adjoint(std::forward<Step>(step), std::forward<Adjoint>(adjoint), x0, n, std::forward<Seed>(seed), check_options{});
}

}  // namespace cairn
