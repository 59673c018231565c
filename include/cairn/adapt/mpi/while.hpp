// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file while.hpp  How ranks run verbs together, and a loop whose length they learn together, when it ends.
#include <memory>
#include <type_traits>
#include <utility>
#include <cairn/adapt/mpi/collective.hpp>
#include <cairn/adapt/mpi/detail/extras.hpp>
#include <cairn/adapt/mpi/loop.hpp>
#include <cairn/door/forms.hpp>
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
  void run(Given const& p, step_index const i, State& x) {
    *more = call_step<State, shape_of_step_with<Step, State, Given>().indexed>(step, p, i, x);
  }
};

/// How verbs are run by all ranks together; see `joins_ranks`.
struct ranks_together {
  template <class Ranks, class Plan, class Run, class... Last>
  static auto run(Ranks const& with, char const* operation, Plan const& plan, Run const& run, Last&&... last) {
    return run_with_extras(with, operation, plan, run, std::forward<Last>(last)...);
  }
  template <class Ranks, class Run>
  static auto keep(Ranks const& with, Run&& run) { return collective_run{std::move(run), inside::of(with)}; }
  /// The answer of the rank that decides counts, and so does its answer where a step returns one.
  template <class Ranks, class Step, class X0, class KeepGoing, class Plan, class... Last>
  static auto until(Ranks const& with, Step&& step, X0&& x0, KeepGoing& keep_going, Plan const& plan, Last&&... last) {
    using State = std::remove_cvref_t<X0>;
    using StepF = std::decay_t<Step>;
    using Wrt = wrt_in<State, open_plan<Plan>, Last...>;
    constexpr char const* operation = "cairn::checkpointed_while";
    auto const& ranks = inside::of(with);
    auto const by = last_of<last_kind::params, State, open_plan<Plan>>(no_wrt{}, last...);
    std::shared_ptr<bool> more;
    auto const all_keep_going = [&](State const& x, step_index const i) {
      bool own = false;
      if constexpr (!is_wrt<Wrt>) own = ask(keep_going, x, i);
      else {
        asked_with<KeepGoing, State, Wrt> asked{keep_going, by.p};
        own = ask(asked, x, i);
      }
      return ranks.agreed(operation, own && *more);
    };
    auto const parts = parts_of_run(step, by, __builtin_addressof(keep_going));
    auto const loop = [&](auto&&... given) {
      more = std::make_shared<bool>(true);
      auto const run = [&]<class Own>(Own&& own_step) {
        return keep(with, checkpointed_while(std::forward<Own>(own_step), std::forward<X0>(x0), all_keep_going, plan,
                                             known_by(std::forward<decltype(given)>(given), parts)...));
      };
      // A run on disk looks at what the step holds: one that was given away is copied.
      constexpr bool copies = kept_on_disk<Last...> && std::is_copy_constructible_v<StepF>;
      using passed = std::conditional_t<copies, StepF const&, Step&&>;
      if constexpr (shapes_with<Wrt>::template step<StepF, State>().stops)
        return run(noted_step<StepF, State>{static_cast<passed>(step), more});
      else return run(static_cast<passed>(step));
    };
    return run_with_extras(with, operation, plan, loop, std::forward<Last>(last)...);
  }
};

}  // namespace detail
}  // namespace cairn
