// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file while.hpp  How ranks run verbs together, and a loop whose length they learn together, when it ends.
#include <cstddef>
#include <cstdint>
#include <memory>
#include <type_traits>
#include <utility>
#include <cairn/adapt/mpi/collective.hpp>
#include <cairn/adapt/mpi/detail/rendezvous.hpp>
#include <cairn/adapt/mpi/loop.hpp>
#include <cairn/core/action.hpp>
#include <cairn/core/event.hpp>
#include <cairn/core/wide.hpp>
#include <cairn/door/forms.hpp>
#include <cairn/run/sweep/detail/given_parts.hpp>
#include <cairn/run/sweep/detail/one_of.hpp>
#include <cairn/run/while.hpp>

namespace cairn {
namespace detail {

/// Has the members of `one_process`; each is a round of the ranks.   \throws collective_error   on all ranks
class agreement {
 public:
  static constexpr bool together = true;
  agreement(rendezvous const& with, char const* operation) : with_{with}, operation_{operation} {}

  [[nodiscard]] int rank() const noexcept { return with_.ranks().rank(); }
  [[nodiscard]] int size() const noexcept { return with_.ranks().size(); }
  void goes_on_in(char const* operation) noexcept { operation_ = operation; }
  void meet() const { (void)with_.on_disk(operation_, {}); }
  [[nodiscard]] std::uint64_t least(std::uint64_t own) const { return voted(own).least(0); }
  [[nodiscard]] bool same(std::uint64_t own) const { return voted(own).same(0); }
  void least_of_each(std::int64_t* values, std::size_t count) const {
    meet();
    with_.ranks().least_of_each(values, count);
  }
  void gather(void const* own, void* into, std::size_t bytes) const {
    meet();
    with_.ranks().gather(own, into, bytes);
  }

 private:
  [[nodiscard]] ballot voted(std::uint64_t own) const {
    ballot mine;
    mine.put(0, own);
    return with_.on_disk(operation_, mine);
  }
  rendezvous with_;  // a kept run may outlive its `collective`
  char const* operation_;
};

/// A keeper of a run, such as `disk`, for one of several processes. See `keeps_runs`.
/// \tparam Agreement  has the members of `one_process`
template <class Keeper, class Agreement>
struct kept_together {
  Keeper const& keeper;
  Agreement all;

  struct keeps_runs {
    [[nodiscard]] static wide memory_bytes(kept_together const& on, slot_index slots, bool keeps_run = false) {
      return Keeper::keeps_runs::memory_bytes(on.keeper, slots, keeps_run);
    }
    [[nodiscard]] static wide shown_bytes(kept_together const& on) {
      return Keeper::keeps_runs::shown_bytes(on.keeper);
    }
    [[nodiscard]] static constexpr slot_index states_behind(kept_together const&) noexcept { return 0; }
    template <class Bar, class State, class... Rest>
    static Bar sweep(kept_together const& on, one_process const&, Rest&&... rest) {
      return Keeper::keeps_runs::template sweep<Bar, State>(on.keeper, on.all, static_cast<Rest&&>(rest)...);
    }
    template <class State, class Step, class... Rest>
    static auto kept(kept_together const& on, Rest&&... rest) {
      return Keeper::keeps_runs::template kept<State, Step>(on.keeper, static_cast<Rest&&>(rest)..., on.all);
    }
  };
};

/// The argument itself; if it is an observer, and ranks meet between actions, an observer around it that also meets the
/// other ranks; if it keeps runs on disk, one that agrees with the other ranks.
template <bool BetweenActions, class Extra>
[[nodiscard]] decltype(auto) rendezvous_extra(rendezvous const& with, char const* operation, Extra&& extra) {
  if constexpr (keeps_runs<Extra>)
    return kept_together<std::remove_cvref_t<Extra>, agreement>{extra, {with, operation}};
  else if constexpr (BetweenActions && observes<Extra>)
    return meets_between<Extra>{with, operation, std::forward<Extra>(extra)};
  else return static_cast<Extra&&>(extra);
}

/// Calls run(extras...) between two rounds of the ranks, with an observer that meets the other ranks if they meet
/// between actions.
template <bool BetweenActions, class Plan, class Run, class... Extras>
auto run_with_extras(collective<BetweenActions> const& with, char const* operation, Plan const& plan, Run const& run,
                     Extras&&... extras) {
  auto const& ranks = inside::of(with);
  constexpr bool adds_observer = BetweenActions && !(observes<Extras> || ...);
  auto const all = [&] {
    if constexpr (!adds_observer)
      return run(rendezvous_extra<BetweenActions>(ranks, operation, std::forward<Extras>(extras))...);
    else
      return run(rendezvous_extra<BetweenActions>(ranks, operation, std::forward<Extras>(extras))...,
                 meets_between<no_observer>{ranks, operation, no_observer{}});
  };
  return ranks.around(operation, plan, all, kept_on_disk<Extras...>);
}

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
