#pragma once
/// \file check_adjoint.hpp  Checks whether an adjoint is the adjoint of its step. For tests; not part of
/// <cairn/cairn.hpp>.
#include <cstddef>
#include <cstdint>
#include <limits>
#include <type_traits>
#include <utility>
#include <vector>
#include <cairn/core/detail/checks.hpp>
#include <cairn/run/check/check_gradient.hpp>
#include <cairn/run/check/detail/checked_loop.hpp>
#include <cairn/run/check/detail/constants_search.hpp>
#include <cairn/run/check/detail/magnitudes.hpp>
#include <cairn/run/check/detail/step_test.hpp>
#include <cairn/run/check/detail/whole_test.hpp>
#include <cairn/run/check/differentiated.hpp>
#include <cairn/run/gradient.hpp>

namespace cairn {

/// How much `check_adjoint` does.
struct check_options {
  /// Steps tested: all steps of a loop of at most this many; else this many, spread over the loop, including the first
  /// and the last.
  step_index most_steps = 64;
  int directions = 2;             ///< random directions at each tested step
  std::uint64_t random_seed = 1;  ///< the same directions for the same seed
  bool whole = true;              ///< whether the Taylor remainder of the whole gradient is tested, too
};

/// A step with its tangent, for the check: `tangent(x, dx, i)` replaces dx, a State that holds a direction, by the
/// step's derivative at x times dx.
template <class Step, class Tangent>
struct with_tangent {
  Step step;        ///< in any form
  Tangent tangent;  ///< `tangent(x, dx, i)`
};
/// Deduces the types of step and tangent.
template <class Step, class Tangent>
with_tangent(Step, Tangent) -> with_tangent<Step, Tangent>;

namespace detail {

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

/// Walks along the loop, tests steps on the way, and the whole loop at the end.
/// \tparam All  which numbers are differentiated, before any are taken as constants
template <class State, class Bar, class Step, class Tangent, class Adjoint, class Seed, class All>
class adjoint_check {
  using loop_type = checked_loop<State, Bar, Step, Adjoint, Seed, numbers_without<All>>;

 public:
  adjoint_check(Step& step, Tangent& tangent, Adjoint& adjoint, Seed& seed, numbers_without<All> const& which,
                check_options const& options)
      : options_{options},
        loop_{step, adjoint, seed, which, options.random_seed},
        steps_{loop_, tangent, options.directions} {}
  adjoint_check(adjoint_check const&) = delete;

  adjoint_report run(State const& x0, step_index n) {
    loop_.report().steps = n;
    find_part(x0, n);
    if (numbers_of(x0, loop_.which()).empty())
      throw invalid_call{
          "cairn::check_adjoint", "the initial state has no floating-point numbers", {}, "there is nothing to vary"};
    loop_.list_undifferentiated(x0);
    State x = copy_of(x0);
    step_index const tested = n < options_.most_steps ? n : options_.most_steps;
    visit(x, 0);
    for (step_index i = 0; i < n && loop_.report().passed(); ++i) {
      // The k-th tested step is floor(k (n - 1) / (tested - 1)).
      step_index const k = loop_.report().steps_tested;
      bool const due =
          k < tested && (tested == n || wide(k) * wide(n - 1) / wide(tested > 1 ? tested - 1 : 1) == wide(i));
      if (due) steps_.run(x, i);
      else loop_.advance(x, i);
      visit(x, i + 1);
    }
    if (loop_.report().passed() && n > 0 && options_.whole) {
      if (last_normal_ >= 0 && last_normal_ < n) {
        x = copy_of(x0);
        for (step_index i = 0; i < last_normal_; ++i) loop_.advance(x, i);
      }
      test_whole(loop_, x0, x, last_normal_ >= 0 ? last_normal_ : n, last_normal_ >= 0 ? span_ : met_);
    }
    if (loop_.report().passed() && steps_.undecided() >= 0) loop_.fail(adjoint_fault::undecided, steps_.undecided());
    loop_.report().put_in_words("cairn::check_adjoint");
    return loop_.report();
  }
  /// Checks again after `found` reported a fault: unnamed constants may have been mistaken for wrong adjoints.
  /// \pre this check has not run
  adjoint_report without_constants(adjoint_report found, State const& x0, step_index n) {
    find_part(x0, n);
    constants_search<loop_type> search{loop_};
    auto const constants = search.run(x0, n);
    found.step_calls += loop_.report().step_calls;
    if (constants.empty()) return found;
    loop_.report() = {};
    loop_.report().step_calls = found.step_calls;
    loop_.which().constants = constants;
    auto report = run(x0, n);
    if (!report.passed()) return report;
    for (std::size_t k = 0; k < constants.size(); ++k) {
      if (!constants[k] || !search.split(k)) continue;
      loop_.which().constants = {};
      loop_.name(x0, loop_.places(x0)[k]);
      loop_.fail(adjoint_fault::undecided, found.step);
      loop_.report().left_alone = true;
      loop_.report().put_in_words("cairn::check_adjoint");
      return loop_.report();
    }
    return report;
  }

 private:
  void find_part(State const& x0, step_index n) {
    if constexpr (requires { requires All::has_part; } && numbered<State>)
      loop_.which().all.part = n > 0 && numbers_of(loop_.made_bar(x0)).size() < numbers_of(x0).size();
  }
  /// Notes the largest and the tiniest numbers along the loop, and the last state that has a number with all its bits.
  void visit(State const& x, step_index i) {
    loop_.which()(x, [&](auto const* run, std::size_t count) {
      using T = std::remove_cvref_t<decltype(*run)>;
      constexpr int bits = std::numeric_limits<T>::digits < std::numeric_limits<double>::digits
                               ? std::numeric_limits<T>::digits
                               : std::numeric_limits<double>::digits;
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

  check_options options_;
  loop_type loop_;
  step_test<loop_type, Tangent> steps_;
  magnitudes met_, span_;        // of numbers in all states; in the states up to the last normal one
  step_index last_normal_ = -1;  // the last state that has a number with all its bits
};

}  // namespace detail

/// Checks whether `adjoint` is the adjoint of `step` along the loop from x0; reports the first wrong step and its
/// error.
///
/// At every tested step:
/// - the step must give the same bits twice; a step (x, x1, i) must do so even if x1 holds other numbers, or the first
///   tested state with its integers;
/// - the result of the adjoint must be linear in bar;
/// - <adjoint(w), v> must equal <w, derivative times v> for random v and w, by central differences with an error
///   estimate, or by the tangent of `with_tangent{step, tangent}`.
///
/// Then the Taylor remainder of the whole gradient must fall with the square of the distance. Terms that the adjoint
/// adds to bar on its own (the derivative of a running objective) are subtracted first, and parameters are not varied:
/// see `check_gradient` for both. An adjoint that sums into a user's object does so during the check, too.
///
/// The check varies all numbers of the state that `visit_numbers` visits; the first numbers of the adjoint belong to
/// them, in the same order. An adjoint with fewer numbers that has the type of one member of the state belongs to that
/// member. Name constants of the loop in `with_constants{x0, &state::t}`. Numbers that are not varied are listed in
/// `report.undifferentiated`; no derivative goes through them.
///
/// An adjoint may leave a number alone at every step if the step makes that number from no differentiated one: it
/// passes the number on, or adds to it or sets it from constants only. If other numbers depend on such a time, step
/// size or coefficient, it is taken as a constant and listed in `report.taken_as_constants`, and the line of text says
/// so. With `with_constants{x0}`, with or without names of constants, all other numbers are checked. If only a part of
/// an array is left alone, the check is undecided, because a forgotten part looks the same. Numbers of types with a
/// `visit_numbers` of their own are never taken as constants.
///
/// Numbers too tiny to have all their bits, or to be distinguished from 0, are judged with the absolute error that
/// arithmetic may have there, so that a right adjoint is not called wrong for it. If neither distances of their own
/// magnitude nor larger ones decide, the step is undecided, as at a kink, and the check goes on. The whole gradient is
/// tested only up to the last state that has a number with all its bits.
/// \param x0  the initial state, or `with_constants{x0, ...}`
/// \param n  steps, 0 or more   \param seed  an adjoint or `seed(x)`, for its type and shape. By default the adjoint is
///   a State
/// Cost: n steps in the loop; if `options.whole`, n more for each of about 20 distances (9 for floats; twice as many
/// with constants), and `gradient` twice; at each tested step and direction about 20 steps and 3 adjoints; about 6
/// states of memory beside those of `gradient`. If an adjoint is found wrong, the search for constants takes some 15
/// steps and 3 adjoints at each of the n steps while there may be any; if it finds constants, the check runs once more
/// without them.
/// \throws invalid_plan  for n < 0   \throws invalid_call  if there is nothing to vary or the adjoint is too tiny; and
///   what user code throws
/// \ingroup start
template <class Step, class Adjoint, class X0, class Seed>
[[nodiscard]] adjoint_report check_adjoint(Step&& step, Adjoint&& adjoint, X0 const& x0, step_index n, Seed&& seed,
                                           check_options const& options) {
  using State = typename detail::state_within<X0>::type;
  using StepF = std::remove_reference_t<decltype(detail::step_within(step))>;
  using AdjointF = std::remove_reference_t<Adjoint>;
  using SeedF = std::remove_reference_t<Seed>;
  constexpr bool copies = copied_state<State> || !state<State>;
  static_assert(copies,
                "cairn: check_adjoint varies copies of the state, and this state cannot be copied; check the step on a "
                "state that can");
  constexpr bool on_host = !detail::numbers_on_device<State>;
  static_assert(on_host,
                "cairn: check_adjoint varies the numbers of states on the host, and those of this one lie in device "
                "memory; let step and adjoint take a state in host memory, too, and check them there");
  constexpr bool in_members = !detail::names_constants<X0> || detail::named_in_members<State>;
  static_assert(in_members,
                "cairn: with_constants names members of an aggregate, and this state cannot be taken apart into "
                "members; let its visit_numbers(f) hand out what is differentiated");
  if constexpr (!copies || !on_host || !in_members || !detail::check_forward<StepF, State, step_index>()) return {};
  else {
    using Bar = typename std::conditional_t<std::is_same_v<std::remove_const_t<SeedF>, detail::state_is_bar>,
                                            std::type_identity<State>, detail::bar_of<SeedF, State>>::type;
    constexpr bool bar_on_host = !detail::numbers_on_device<Bar>;
    static_assert(bar_on_host,
                  "cairn: check_adjoint reads the numbers of adjoints on the host, and those of this one lie in device "
                  "memory; let step and adjoint take adjoints in host memory, too, and check them there");
    if constexpr (!bar_on_host || !detail::check_adjoint<AdjointF, State, Bar>()) return {};
    else {
      if (n < 0)
        throw invalid_plan{"cairn::check_adjoint", "the number of steps is negative", {{"steps", n}}, "use 0 or more"};
      auto const check = [&](auto& tangent) {
        auto const run = [&]<class All>(All const& all, State const& initial) {
          using check_type = detail::adjoint_check<State, Bar, StepF, std::remove_reference_t<decltype(tangent)>,
                                                   AdjointF, SeedF, All>;
          detail::numbers_without<All> const which{all};
          auto report =
              check_type{detail::step_within(step), tangent, adjoint, seed, which, options}.run(initial, n);
          if constexpr (!All::constants_are_named)
            if (report.fault == adjoint_fault::wrong_adjoint || report.fault == adjoint_fault::wrong_gradient)
              return check_type{detail::step_within(step), tangent, adjoint, seed, which, options}.without_constants(
                  std::move(report), initial, n);
          return report;
        };
        if constexpr (detail::has_constants<X0>) return run(detail::numbers_but{x0}, x0.x0);
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
[[nodiscard]] adjoint_report check_adjoint(Step&& step, Adjoint&& adjoint, X0 const& x0, step_index n,
                                           check_options const& options = {}) {
  return check_adjoint(std::forward<Step>(step), std::forward<Adjoint>(adjoint), x0, n, detail::state_is_bar{},
                       options);
}
/// The same with `check_options{}`.
template <class Step, class Adjoint, class X0, class Seed>
  requires(!std::is_same_v<std::remove_cvref_t<Seed>, check_options>)
[[nodiscard]] adjoint_report check_adjoint(Step&& step, Adjoint&& adjoint, X0 const& x0, step_index n, Seed&& seed) {
    return check_adjoint(std::forward<Step>(step), std::forward<Adjoint>(adjoint), x0, n, std::forward<Seed>(seed),
                         check_options{});
}

}  // namespace cairn
