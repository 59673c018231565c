// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file check_adjoint.hpp  Checks whether an adjoint is the adjoint of its step. For tests; not part of
/// <cairn/cairn.hpp>.
#include <cstddef>
#include <type_traits>
#include <utility>
#include <vector>
#include <cairn/core/detail/made_of.hpp>
#include <cairn/core/error.hpp>
#include <cairn/core/numbers.hpp>
#include <cairn/core/state_traits.hpp>
#include <cairn/door/detail/adjoint_checks.hpp>
#include <cairn/door/detail/checks.hpp>
#include <cairn/run/check/check_gradient.hpp>
#include <cairn/run/check/check_options.hpp>
#include <cairn/run/check/detail/adjoint_check.hpp>
#include <cairn/run/check/detail/differentiated.hpp>
#include <cairn/run/check/detail/user_loop.hpp>
#include <cairn/run/check/report.hpp>
#include <cairn/run/check/with_constants.hpp>

namespace cairn {
namespace detail {

// Detects by trial that copies of a state share its numbers, where its type does not show it.

struct parts_are_known {
  template <class Part>
  static consteval ruling of() {
    using T = std::remove_const_t<Part>;
    if constexpr (traited_copy_itself<T>) return ruling::yes;
    else return kind<T> == made_of::unknown && std::is_class_v<T> ? ruling::no : ruling::by_parts;
  }
};

/// Changes the numbers of a copy for a moment, and looks at those of x.
/// \throws invalid_call   if they change, too
template <class State>
void check_copies(char const* who, State const& x) {
  if constexpr (!every_part<parts_are_known, State>() && numbered<State> && copied_state<State>) {
    std::vector<double> before, now;
    auto const read = [](State const& from, std::vector<double>& into) {
      visit_numbers(from, [&](auto const* at, std::size_t count) {
        for (std::size_t k = 0; k < count; ++k) into.push_back(double(at[k]));
      });
    };
    read(x, before);
    State copy = copy_of(x);
    auto const write = [&copy](auto value) {
      std::size_t k = 0;
      visit_numbers(copy, [&](auto* at, std::size_t count) {
        for (std::size_t j = 0; j < count; ++j) at[j] = std::remove_reference_t<decltype(*at)>(value(k++));
      });
    };
    write([&](std::size_t k) { return before[k] == 1 ? 2 : 1; });
    read(x, now);
    write([&](std::size_t k) { return before[k]; });  // x has its numbers again
    if (now != before)
      throw invalid_call{who, "copies of the state share its numbers", {},
                         "copy deeply in the class, or specialise cairn::state_traits with copy(from, into)"};
  }
}

}  // namespace detail

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

template <class Fn>
inline constexpr bool has_tangent = false;
template <class Step, class Tangent>
inline constexpr bool has_tangent<with_tangent<Step, Tangent>> = true;
template <class Fn>
[[nodiscard]] constexpr auto& step_within(Fn& f) {
  if constexpr (has_tangent<std::remove_const_t<Fn>>) return f.step;
  else return f;
}

/// Whether the host cannot read the numbers of `T`, or of a part of it.
template <class T>
inline constexpr bool numbers_on_device = on_device<T>() && !numbered<T>;

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
/// An adjoint may leave a number alone at every step if the step makes that number from no differentiated one: the step
/// passes the number on, adds constants to it, or sets it from constants. If other numbers depend on such a time, step
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
/// with constants), and a gradient twice, each of fewer than 2n steps and n adjoints; at each tested step and direction
/// about 20 steps and 3 adjoints; memory for some 2 sqrt(n) + 6 states. If an adjoint is found wrong, the search for
/// constants takes some 15 steps and 3 adjoints at each of the n steps while candidates are left; if it finds
/// constants, the check runs once more without them.
/// \throws invalid_plan  for n < 0   \throws invalid_call  if copies of the state share its numbers, there is nothing to
///   vary or the adjoint is too tiny; and what user code throws
/// \ingroup start
template <class Step, class Adjoint, class X0, class Seed>
  requires(!std::is_same_v<std::remove_cvref_t<Seed>, check_options>)
[[nodiscard]] adjoint_report check_adjoint(Step&& step, Adjoint&& adjoint, X0 const& x0, step_index n, Seed&& seed,
                                           check_options const& options = {}) {
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
                "members; let its visit_numbers(f) visit what is differentiated");
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
          detail::check_copies("cairn::check_adjoint", initial);
          detail::typed_functions<State, Bar, StepF, std::remove_reference_t<decltype(tangent)>, AdjointF, SeedF, All>
              functions{detail::step_within(step), tangent, adjoint, seed, all};
          return detail::report_of(functions, detail::without_type<detail::unnamed_state>(initial), n, options,
                                   All::constants_are_named);
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

}  // namespace cairn
