// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file check_adjoint.hpp  Checks the adjoint of a step that communicates.
#include <cstddef>
#include <type_traits>
#include <utility>
#include <cairn/adapt/mpi/collective.hpp>
#include <cairn/adapt/mpi/detail/gathered.hpp>
#include <cairn/run/check/check_adjoint.hpp>
#include <cairn/run/check/detail/user_loop.hpp>

namespace cairn {

/// The same as `check_adjoint` without `collective`, for a state of which each rank has a part. The step on all ranks
/// is one step of the whole state, so its adjoint is checked through halo exchanges and reductions. Each rank knows all
/// numbers, so that all come to the same verdict; use a small state. Numbers are counted across all ranks, in the order
/// of the ranks: `report.number` counts in the whole state.
///
/// A number that is a constant of the loop must be named by `with_constants`, or left out by the state's
/// `visit_numbers`: with `collective`, no number is recognised as a constant automatically. What x1 held before an
/// out-of-place step is not varied.
/// \param x0, seed  this rank's part   \param with  the ranks
/// \returns the report, the same on all ranks
/// \throws collective_error   on all ranks, with what user code threw on one
template <class Step, class Adjoint, class X0, class Seed, bool BetweenActions>
[[nodiscard]] adjoint_report check_adjoint(Step&& step, Adjoint&& adjoint, X0 const& x0, step_index n, Seed&& seed,
                                           collective<BetweenActions> with, check_options const& options = {}) {
  using State = typename detail::state_within<X0>::type;
  using StepF = std::remove_reference_t<Step>;
  using AdjointF = std::remove_reference_t<Adjoint>;
  using SeedF = std::remove_reference_t<Seed>;
  using Bar = typename std::conditional_t<std::is_same_v<std::remove_const_t<SeedF>, detail::state_is_bar>,
                                          std::type_identity<State>, detail::bar_of<SeedF, State>>::type;
  constexpr bool on_host = !detail::numbers_on_device<State> && !detail::numbers_on_device<Bar>;
  constexpr bool finds_numbers = on_host && copied_state<State> && numbered<Bar>;
  static_assert(finds_numbers,
                "cairn: check_adjoint over ranks needs a state that can be copied, and numbers of state and adjoint "
                "that visit_numbers finds in host memory");
  if constexpr (!finds_numbers || !detail::check_forward<StepF, State, step_index>()) return {};
  else if constexpr (!detail::check_adjoint<AdjointF, State, Bar>()) return {};
  else {
    auto const& ranks = detail::inside::of(with);
    auto const check = [&]<class Which>(Which const& which, State const& part) {
      constexpr bool bar_is_state = std::is_same_v<Bar, State>;
      using whole = detail::gathered<State, Which>;
      using of_bar = std::conditional_t<bar_is_state, Which, detail::every_number>;
      using whole_bar = detail::gathered<Bar, of_bar>;
      detail::user_loop<State, Bar, StepF, AdjointF, SeedF> loop{step, adjoint, seed};
      auto const of_bars = [&]() -> of_bar {
        if constexpr (bar_is_state) return which;
        else return {};
      }();
      auto const step_of_all = [&](whole& x, step_index i) {
        loop.advance(x.own(), i);
        x.gather();
      };
      auto const adjoint_of_all = [&](whole const& x, whole_bar& bar, step_index i) {
        loop.pull(x.own(), bar.own(), i);
        bar.gather(x.own_numbers());
      };
      auto const seed_of_all = [&](whole const& x) {
        return whole_bar{loop.made_bar(x.own()), ranks, of_bars, x.own_numbers()};
      };
      whole const all{detail::copy_of(part), ranks, which, ~std::size_t{0}};
      return check_adjoint(step_of_all, adjoint_of_all, all, n, seed_of_all, options);
    };
    detail::sent_plan shared;
    shared.steps = std::uint64_t(n);
    return ranks.guarded("cairn::check_adjoint", [&] {
      ranks.begin("cairn::check_adjoint", shared);
      auto report = [&] {
        if constexpr (detail::has_constants<X0>) return check(detail::numbers_but{x0}, x0.x0);
        else return check(detail::every_number{}, x0);
      }();
      ranks.end("cairn::check_adjoint");
      return report;
    });
  }
}
/// The same for an adjoint that is a State.
template <class Step, class Adjoint, class X0, bool BetweenActions>
[[nodiscard]] adjoint_report check_adjoint(Step&& step, Adjoint&& adjoint, X0 const& x0, step_index n,
                                           collective<BetweenActions> with, check_options const& options = {}) {
  return check_adjoint(std::forward<Step>(step), std::forward<Adjoint>(adjoint), x0, n, detail::state_is_bar{}, with,
                       options);
}

}  // namespace cairn
