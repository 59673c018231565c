#pragma once
/// \file check_adjoint.hpp  Whether an adjoint is the adjoint of its step, told before it is believed. For tests, and not in <cairn/cairn.hpp>.
#include <cstddef>
#include <cstdint>
#include <optional>
#include <type_traits>
#include <utility>
#include <vector>
#include <cairn/core/checks.hpp>
#include <cairn/run/check_gradient.hpp>
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

template <class State, class Bar, class Step, class Tangent, class Adjoint, class Seed>
class adjoint_check {
 public:
  adjoint_check(Step& step, Tangent& tangent, Adjoint& adjoint, Seed& seed, check_options const& options)
      : step_{step}, tangent_{tangent}, adjoint_{adjoint}, seed_{seed}, options_{options}, random_{options.random_seed} {}

  adjoint_report run(State const& x0, step_index n) {
    report_.steps = n;
    if (numbers_of(x0).empty()) throw invalid_call{"cairn::check_adjoint", "the initial state has no floating-point numbers", {}, "there is nothing to vary"};
    State x = copy_of(x0);
    step_index const tested = n < options_.most_steps ? n : options_.most_steps;
    for (step_index i = 0; i < n && report_.passed(); ++i) {
      // The k-th tested step is floor(k (n - 1) / (tested - 1)).
      step_index const k = report_.steps_tested;
      bool const due = k < tested && (tested == n || wide(k) * wide(n - 1) / wide(tested > 1 ? tested - 1 : 1) == wide(i));
      if (due) test_step(x, i);
      else advance(x, i);
    }
    if (report_.passed() && n > 0 && options_.whole) test_whole(x0, x, n);
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
  /// An adjoint of state x whose first numbers, as many as x has, are w.
  Bar bar_with(State const& x, std::vector<double> w) {
    std::optional<Bar> bar;
    if constexpr (std::is_same_v<Seed const, state_is_bar const>) bar.emplace(copy_of(x));
    else if constexpr (seed_function<Seed, State>) emplace_by(bar, [&] { return taken_out_by([&]() -> decltype(auto) { return call_lending(seed_, x); }); });
    else bar.emplace(copy_of(seed_));
    (void)cut(*bar, w.size());
    set_numbers(*bar, w);
    return std::move(*bar);
  }
  /// What the adjoint of step i makes of bar = w, cut to the numbers of x.
  std::vector<double> pulled(State const& x, State const& x1, std::vector<double> w, step_index i) {
    Bar bar = bar_with(x1, std::move(w));
    pull(x, bar, i);
    return cut(bar, numbers_of(x).size());
  }
  /// Its first numbers, which are those of the state's adjoint.
  static std::vector<double> cut(Bar const& bar, std::size_t size) {
    auto all = numbers_of(bar);
    if (all.size() < size)
      throw invalid_call{"cairn::check_adjoint", "the adjoint has fewer floating-point numbers than the state", {{"adjoint", all.size()}, {"state", size}},
                         "its first ones must be those of the state's adjoint, in the state's order"};
    all.resize(size);
    return all;
  }
  std::vector<double> stepped(State const& from, step_index i) {
    State x = copy_of(from);
    advance(x, i);
    return numbers_of(x);
  }

  void test_step(State& x, step_index i) {
    ++report_.steps_tested;
    State x1 = copy_of(x);
    advance(x1, i);
    auto const from = numbers_of(x), to = numbers_of(x1);
    if (to != stepped(x, i)) {
      for (double number : to)
        if (!finite(number)) return fail(adjoint_fault::not_finite, i);
      return fail(adjoint_fault::step_not_deterministic, i);
    }
    for (int k = 0; k < options_.directions && report_.passed(); ++k) {
      auto const v = random_direction(random_, scales_of(x));
      auto w = scales_of(x1);
      for (double& number : w) number = random_.next() / number;
      // Kept in w is what the adjoint's numbers can hold of it.
      Bar const probe = bar_with(x1, w);
      w = cut(probe, w.size());
      std::vector<double> none(w.size()), twice = w;
      for (double& number : twice) number *= 2;
      // What it adds by itself, as the derivative of a running objective, is no part of the step's derivative.
      auto const alone = pulled(x, x1, std::move(none), i), doubled = less(pulled(x, x1, std::move(twice), i), alone);
      auto const once = pulled(x, x1, w, i), adjoint = less(once, alone);
      double off = 0, size = 0;
      for (std::size_t m = 0; m < from.size(); ++m) {
        off += magnitude(doubled[m] - 2 * adjoint[m]) * magnitude(v[m]);
        size += (magnitude(doubled[m]) + 2 * magnitude(once[m]) + magnitude(alone[m])) * magnitude(v[m]);
      }
      if (!finite(size)) return fail(adjoint_fault::not_finite, i);
      if (off > 64 * size * power_of_two(-bits_of(probe))) return fail(adjoint_fault::adjoint_not_linear, i);
      if constexpr (std::is_same_v<Tangent const, no_tangent const>) by_differences(x, from, to, v, w, adjoint, i);
      else by_tangent(x, v, w, adjoint, i);
    }
    x = std::move(x1);
  }

  /// Central differences at distances from eps^(1/6) to eps^(1/2): between truncation and rounding there is a distance where the error
  /// changes least, and what it changes by there is what cannot be trusted.
  void by_differences(State const& x, std::vector<double> const& from, std::vector<double> const& to, std::vector<double> const& v,
                      std::vector<double> const& w, std::vector<double> const& adjoint, step_index i) {
    int const bits = bits_of(x);
    double const rounding = sum_of_terms(w, to) * power_of_two(2 - bits);
    std::vector<difference> all;
    for (int level = bits / 6; level <= bits / 2; level += 2) {
      all.push_back(difference_at(x, from, v, w, adjoint, power_of_two(-level), i));
      if (!finite(all.back().error())) return fail(adjoint_fault::not_finite, i);
    }
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
    judge(all[best], 64 * least, rounding * power_of_two(bits / 2), i);
    if (report_.fault == adjoint_fault::wrong_adjoint && from.size() <= most_numbers) find_number(x, from, v, w, adjoint, all[best].h, i);
  }
  void by_tangent(State const& x, std::vector<double> const& v, std::vector<double> const& w, std::vector<double> const& adjoint, step_index i) {
    State dx = copy_of(x);
    auto direction = v;
    set_numbers(dx, direction);
    if constexpr (calls<Tangent, State const&, State&, step_index>) tangent_(x, dx, i);
    else tangent_(x, dx);
    auto const forward = numbers_of(dx);
    difference found;
    found.h = 0.5;
    found.forward = dot(w, forward);
    found.terms = sum_of_terms(w, forward);
    found.adjoint = dot(adjoint, direction);
    if (!finite(found.error())) return fail(adjoint_fault::not_finite, i);
    judge(found, 1024 * (found.terms + sum_of_terms(adjoint, direction)) * power_of_two(-bits_of(x)), 0, i);
  }

  /// <w, f(x + h v) - f(x - h v)> and the same by the adjoint.
  struct difference {
    double h = 0, forward = 0, adjoint = 0, terms = 0;
    [[nodiscard]] double error() const noexcept { return (forward - adjoint) / (2 * h); }
  };
  difference difference_at(State const& x, std::vector<double> const& from, std::vector<double> const& v, std::vector<double> const& w,
                           std::vector<double> const& adjoint, double h, step_index i) {
    State ahead = copy_of(x), behind = copy_of(x);
    auto up = moved(from, h, v), down = moved(from, -h, v);
    set_numbers(ahead, up);
    set_numbers(behind, down);
    advance(ahead, i);
    advance(behind, i);
    auto const high = numbers_of(ahead), low = numbers_of(behind);
    if (high.size() != w.size() || low.size() != w.size()) return {h, 0, 1 / (h - h), 0};
    auto const apart = less(high, low);
    return {h, dot(w, apart), dot(adjoint, less(std::move(up), down)), sum_of_terms(w, apart)};
  }
  /// \param doubt  errors up to this mean nothing   \param least  magnitude below which a sum of terms counts as 0
  void judge(difference const& found, double doubt, double least, step_index i) {
    double size = found.terms / (2 * found.h);
    if (magnitude(found.adjoint) / (2 * found.h) > size) size = magnitude(found.adjoint) / (2 * found.h);
    double const scale = size > least ? size : least, error = magnitude(found.error());
    if (scale > 0 && doubt / scale > report_.resolution) report_.resolution = doubt / scale;
    if (!(error <= doubt)) {
      fail(adjoint_fault::wrong_adjoint, i);
      report_.by_adjoint = found.adjoint / (2 * found.h);
      report_.by_differences = found.forward / (2 * found.h);
      report_.relative_error = error / scale;
      return;
    }
    if (doubt > scale / 64) fail(adjoint_fault::undecided, i);
  }
  void find_number(State const& x, std::vector<double> const& from, std::vector<double> const& v, std::vector<double> const& w,
                   std::vector<double> const& adjoint, double h, step_index i) {
    double worst = -1;
    for (std::size_t k = 0; k < from.size(); ++k) {
      std::vector<double> alone(from.size());
      alone[k] = v[k];
      auto const found = difference_at(x, from, alone, w, adjoint, h, i);
      double const error = magnitude(found.error());
      if (!(error > worst)) continue;
      worst = error;
      report_.number = std::int64_t(k);
      report_.number_by_adjoint = adjoint[k];
      report_.number_by_differences = found.forward / (2 * h * v[k]);
    }
  }

  /// The step of a loop that has begun: its records are to be repeated.
  decltype(auto) begun_step() {
    if constexpr (told_of_loops<Step>) return in_place([this](State& x, step_index i) { step_(x, i); });
    else return (step_);
  }
  void test_whole(State const& x0, State const& last, step_index n) {
    auto const from = numbers_of(x0), v = random_direction(random_, scales_of(x0)), final_numbers = numbers_of(last);
    auto w = scales_of(last);
    for (double& number : w) number = random_.next() / number;
    w = cut(bar_with(last, w), w.size());
    auto const pulled_through = [&](std::vector<double> by) { return cut(gradient(begun_step(), copy_of(x0), n, bar_with(last, std::move(by)), adjoint_), from.size()); };
    auto const slope = less(pulled_through(w), pulled_through(std::vector<double>(w.size())));
    taylor_test(report_, bits_of(x0), sum_of_terms(w, final_numbers), sum_of_terms(slope, v), [&](double h) {
      State x = copy_of(x0);
      auto to = moved(from, h, v);
      set_numbers(x, to);
      for (step_index i = 0; i < n; ++i) advance(x, i);
      auto const reached = numbers_of(x);
      if (reached.size() != w.size()) return 1 / (h - h);
      return magnitude(dot(w, less(reached, final_numbers)) - dot(slope, less(std::move(to), from)));
    });
  }

  static constexpr std::size_t most_numbers = 4096;  // of a state whose worst number is looked for, two steps a number

  Step& step_;
  Tangent& tangent_;
  Adjoint& adjoint_;
  Seed& seed_;
  check_options options_;
  random_numbers random_;
  adjoint_report report_;
};

}  // namespace detail

/// Whether `adjoint` is the adjoint of `step` along the loop from x0: the first wrong step, and how wrong it is, without a word of trust.
///
/// At every tested step: the step gives the same numbers twice; what the adjoint makes of bar is linear in it; and <adjoint(w), v> is
/// <w, derivative times v> for random v and w, by central differences with an error estimate, or by the tangent of `with_tangent{step,
/// tangent}`. Then the Taylor remainder of the whole gradient must fall with the square of the distance. What the adjoint adds to bar by
/// itself (the derivative of a running objective) is taken out first, and parameters are not varied: see `check_gradient` for both.
/// Adjoints that sum into an object of the user's do so here, too.
/// \param n  steps, 0 or more   \param seed  an adjoint or `seed(x)`, for its type and shape; its first numbers, as many as the state's,
///        are varied in the state's order. By default the adjoint is a State
/// Cost: n steps in the loop, and n for each of about 20 distances (9 for floats) and a `gradient` twice if `options.whole`; at each tested
/// step and direction about 20 steps and 3 adjoints; about 6 states of memory beside those of `gradient`.
/// \throws invalid_plan  for n < 0   \throws invalid_call  where there is nothing to vary or the adjoint is too small; and what user code throws
template <class Step, class Adjoint, class X0, class Seed>
[[nodiscard]] adjoint_report check_adjoint(Step&& step, Adjoint&& adjoint, X0 const& x0, step_index n, Seed&& seed, check_options const& options) {
  using StepF = std::remove_reference_t<decltype(detail::step_within(step))>;
  using AdjointF = std::remove_reference_t<Adjoint>;
  using SeedF = std::remove_reference_t<Seed>;
  constexpr bool copies = copied_state<X0> || !state<X0>;
  static_assert(copies, "cairn: check_adjoint varies copies of the state, and this state cannot be copied; check the step on a state that can");
  constexpr bool on_host = !detail::numbers_on_device<X0>;
  static_assert(on_host,
                "cairn: check_adjoint varies the numbers of states on the host, and those of this one lie in device memory; let step and adjoint take a "
                "state in host memory, too, and check them there");
  if constexpr (!copies || !on_host || !detail::check_forward<StepF, X0, step_index>()) return {};
  else {
    using Bar = typename std::conditional_t<std::is_same_v<std::remove_const_t<SeedF>, detail::state_is_bar>, std::type_identity<X0>, detail::bar_of<SeedF, X0>>::type;
    constexpr bool bar_on_host = !detail::numbers_on_device<Bar>;
    static_assert(bar_on_host,
                  "cairn: check_adjoint reads the numbers of adjoints on the host, and those of this one lie in device memory; let step and adjoint "
                  "take adjoints in host memory, too, and check them there");
    if constexpr (!bar_on_host || !detail::check_adjoint<AdjointF, X0, Bar>()) return {};
    else {
      if (n < 0) throw invalid_plan{"cairn::check_adjoint", "the number of steps is negative", {{"steps", n}}, "use 0 or more"};
      auto const check = [&](auto& tangent) {
        return detail::adjoint_check<X0, Bar, StepF, std::remove_reference_t<decltype(tangent)>, AdjointF, SeedF>{detail::step_within(step), tangent, adjoint, seed, options}.run(x0, n);
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
