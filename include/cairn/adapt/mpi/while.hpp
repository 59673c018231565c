// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file while.hpp  A loop whose length all ranks learn together, when it ends.
#include <memory>
#include <type_traits>
#include <utility>
#include <cairn/adapt/mpi/collective.hpp>
#include <cairn/adapt/mpi/gradient.hpp>
#include <cairn/adapt/mpi/loop.hpp>
#include <cairn/core/forms.hpp>
#include <cairn/run/while.hpp>

namespace cairn {
namespace detail {

/// A step that returns whether the loop goes on. Its result is noted, and all ranks agree on it in `keep_going`.
template <class Step, class State>
struct noted_step {
  Step step;
  std::shared_ptr<bool> more;
  void operator()(State& x, step_index const i) {
    if constexpr (shape_of_step<Step, State>().indexed) *more = step(x, i);
    else *more = step(x);
  }
  /// The same with parameters; see `binds_step`.
  template <class, class Given>
  static consteval step_shape step_with() {
    constexpr auto read = shape_of_step_with<Step, State, Given>();
    if constexpr (read.wrong != fault::none) return read;
    else return {step_form::in_place, true, false, fault::none};
  }
  template <class, class Given>
  [[nodiscard]] auto with_params(Given const& p) {
    auto bound = bind_step<State>(step, p);
    return noted_step<decltype(bound), State>{bound, more};
  }
};

}  // namespace detail

/// The same as `checkpointed_while` without `collective`, by all ranks together: the loop has one length on all ranks.
/// \param keep_going  called on all ranks, exactly once for each state; the answer of the rank that decides counts, see
///   `collective::decided_by`. The same holds for a step that returns bool
/// \param with  the ranks; see `collective`   \param last  as without `collective`, without `wrt`
/// \throws collective_error   on all ranks, if one of them cannot go on: before any step runs if plans differ, as far
///   as their slots and first actions show
/// Cost: one reduction of 128 bytes a step in the forward pass.
template <class Step, class X0, class KeepGoing, class Params, bool BetweenActions, class... Last>
[[nodiscard]] auto checkpointed_while(Step&& step, X0&& x0, KeepGoing&& keep_going, Params const& plan,
                                      collective<BetweenActions> with, Last&&... last) {
  using State = std::remove_cvref_t<X0>;
  using StepF = std::decay_t<Step>;
  using Asked = std::remove_reference_t<KeepGoing>;
  constexpr bool fixed = !(detail::is_wrt<Last> || ... || false);
  static_assert(fixed,
                "cairn: a loop of unknown length that ranks run together takes no cairn::wrt; let step and adjoint "
                "capture their parameters");
  constexpr char const* operation = "cairn::checkpointed_while";
  if constexpr (!detail::check_forward<StepF, State, step_index, true>()) return detail::refuse_run<Step, X0>();
  else if constexpr (!fixed || !detail::check_while<State, Params, Asked>()) return detail::refuse_run<Step, X0>();
  else {
    auto const& ranks = detail::inside::of(with);
    std::shared_ptr<bool> more;
    auto const all_keep_going = [&](State const& x, step_index const i) {
      bool const own = detail::ask(keep_going, x, i);
      return ranks.agreed(operation, own && *more);
    };
    auto const run = [&](auto&&... given) {
      more = std::make_shared<bool>(true);
      auto const loop = [&]<class Own>(Own&& own_step) {
        return collective_run{
            checkpointed_while(std::forward<Own>(own_step), std::forward<X0>(x0), all_keep_going, plan,
                               std::forward<decltype(given)>(given)...),
            ranks};
      };
      if constexpr (detail::shape_of_step<StepF, State>().stops)
        return loop(detail::noted_step<StepF, State>{std::forward<Step>(step), more});
      else return loop(std::forward<Step>(step));
    };
    return detail::run_with_extras(with, operation, plan, run, std::forward<Last>(last)...);
  }
}

}  // namespace cairn
