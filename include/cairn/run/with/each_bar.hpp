// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file each_bar.hpp  The gradients of several objectives from one sweep.
#include <type_traits>
#include <utility>
#include <cairn/core/detail/kept_as.hpp>
#include <cairn/core/state_traits.hpp>
#include <cairn/run/form/detail/loop_adjoint.hpp>
#include <cairn/run/form/detail/plans_inside.hpp>
#include <cairn/run/sweep/detail/cached_object.hpp>
#include <cairn/run/sweep/detail/end_hash.hpp>
#include <cairn/run/sweep/detail/kept_snapshot.hpp>
#include <cairn/run/with/detail/adjoint_over.hpp>

namespace cairn {
namespace detail {

/// The form of an adjoint on the elements of `Bars`; `Bars` itself is changed, so it must not be const.
template <class Adjoint, class State, class Bars>
[[nodiscard]] consteval adjoint_shape shape_on_each() {
  if constexpr (std::is_const_v<Bars> || !range_like<Bars>) return {};
  else return shape_of_adjoint<Adjoint, State, typename Bars::value_type>();
}

template <class Given>
struct adjoint_of_each : adjoint_over<adjoint_of_each<Given>> {
  using Adjoint = std::remove_reference_t<Given>;
  explicit adjoint_of_each(kept_callable<Given> f) : adjoint{f} {}
  kept_callable<Given> adjoint;
  mutable lent_object memory{};  // for a snapshot of an object that the adjoint changes

  template <class State, class Bars>
  static consteval adjoint_shape shape_on() { return shape_on_each<Adjoint, State, Bars>(); }
  template <class State, class Bars, class Params, class DP>
  static consteval adjoint_shape adjoint_with() {
    if constexpr (!range_like<Bars>) return {};
    else return shape_over(shape_of_adjoint_with<Adjoint, State, typename Bars::value_type, Params, DP>());
  }
  template <class State, class Bars, class Params, class DP>
  void check_plans() const {
    check_plans_inside<State, typename Bars::value_type, Params, DP>(*adjoint);
  }
  template <class Look>
  void each_function(Look const& look) const { look(*adjoint); }
  void ends_in(end_hash end) const
    requires takes_end_hash<Adjoint>
  {
    referred_to(*adjoint).ends_in(end);
  }
  /// Restores an object that the adjoint of one bar has changed, for the adjoint of the next.
  template <class State, class Input, class Bars, class Params, class DP>
  void back(Input& x, State const* x1, Bars& bars, Params const& p, DP& dp, step_index const from,
            step_index const to) const {
    if constexpr (!moves_in_loop<Adjoint, State, typename Bars::value_type, Params, DP>()) {
      for (auto& bar : bars) call_back<State>(*adjoint, x, x1, bar, p, dp, from, to);
    } else {
      auto const& before = kept_state_of(std::as_const(x), memory.object());
      bool moved = false;
      for (auto& bar : bars) {
        if (std::exchange(moved, true)) restore_state(x, before);
        call_back<State>(*adjoint, x, x1, bar, p, dp, from, to);
      }
    }
  }
};

/// The `reverse` of a recording adjoint, for several bars.
template <class Given>
struct reverse_of_each {
  using Reverse = std::remove_reference_t<Given>;
  kept_callable<Given> reverse;

  template <class Tape, class Bars, class Params, class DP>
  static consteval bool reverse_with() {
    if constexpr (!range_like<Bars>) return false;
    else return reverse_takes<Reverse, Tape, typename Bars::value_type, Params, DP>();
  }
  template <class Tape, class Bars, class Params, class DP>
  void back(Tape& tape, Bars& bars, Params const& p, DP& dp, step_index const i) const {
    auto const bound = bind_reverse<Tape, typename Bars::value_type>(*reverse, p, dp);
    for (auto& bar : bars) bound(tape, bar, i);
  }
  template <class Look>
  void each_function(Look const& look) const { look(*reverse); }
  template <class Tape, class Bars>
    requires(!std::is_const_v<Bars> && range_like<Bars>)
  void operator()(Tape& tape, Bars& bars, step_index const i) const {
    back(tape, bars, no_parameters, no_gradient, i);
  }
};

}  // namespace detail

/// Makes an adjoint of several bars from one of a single bar. Use it with a seed that is a container of bars (a vector,
/// an array, a ring), one for each objective. `gradient` then returns the container of their gradients, each with the
/// bits of a sweep of its own, from one forward run and one recomputation: the step is called as often as for a single
/// bar.
///
/// \param adjoint  `(x, bar[, i])`, `(x, x1, bar, i)` or `(x, bar, first, last)`, in place or by value; called once for
///   each bar, in order. Of `recorded`, each step is recorded once, and its tape is reversed for each bar. Whatever the
///   adjoint accumulates elsewhere, such as the dp of a `wrt`, is the sum over all bars; to have one for each, make it
///   a part of the bar. An lvalue is kept by reference, see `hooked`. Keeps one snapshot of an object
///   that the adjoint may change, which is restored for the next bar
template <class Adjoint>
[[nodiscard]] constexpr auto each_bar(Adjoint&& adjoint) {
  if constexpr (detail::recorder<std::remove_reference_t<Adjoint>>) {
    detail::reverse_of_each<detail::kept_as<decltype((std::forward<Adjoint>(adjoint).reverse))>> each{
        std::forward<Adjoint>(adjoint).reverse};
    if constexpr (requires { adjoint.restart; })
      return recorded{std::forward<Adjoint>(adjoint).record, std::move(each), std::forward<Adjoint>(adjoint).restart};
    else return recorded{std::forward<Adjoint>(adjoint).record, std::move(each)};
  } else return detail::adjoint_of_each<detail::kept_as<Adjoint>>{std::forward<Adjoint>(adjoint)};
}

}  // namespace cairn
