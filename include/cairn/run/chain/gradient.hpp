// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file gradient.hpp  The adjoint of a chain of different stages, by a plan within a memory budget. Not part of
/// <cairn/cairn.hpp>.
#include <type_traits>
#include <utility>
#include <cairn/core/chain.hpp>
#include <cairn/core/detail/stage_checks.hpp>
#include <cairn/core/event.hpp>
#include <cairn/core/stage.hpp>
#include <cairn/run/chain/any_stage.hpp>
#include <cairn/run/chain/detail/checks.hpp>
#include <cairn/run/chain/detail/replay.hpp>
#include <cairn/run/chain/detail/sweep.hpp>
#include <cairn/run/chain/store.hpp>
#include <cairn/run/detail/listed_actions.hpp>
#include <cairn/run/detail/one_of.hpp>

namespace cairn {
namespace detail {

/// The arguments that may follow the seed.
template <class T>
inline constexpr bool is_chain_store = keeps_chain_states<std::remove_reference_t<T>>;
template <class T>
inline constexpr bool is_observer = !is_failure<T> && !is_chain_store<T> && !is_options<T> && observes<T>;

template <class... Rest>
[[nodiscard]] consteval stage_fault fault_of_extras() {
  constexpr bool known = ((is_failure<Rest> || is_chain_store<Rest> || is_observer<Rest> || is_options<Rest>)&&...);
  if constexpr (!known) return stage_fault::extra;
  else {
    constexpr int failures = (int(is_failure<Rest>) + ... + 0), stores = (int(is_chain_store<Rest>) + ... + 0),
                  observers = (int(is_observer<Rest>) + ... + 0), options = (int(is_options<Rest>) + ... + 0);
    return failures < 2 && stores < 2 && observers < 2 && options < 2 ? stage_fault::none : stage_fault::twice;
  }
}

/// The likely result type of a refused call.
template <class Stages, class X0>
struct refused_adjoint : first_returned<std::conditional_t<of_any_stages<Stages>, stage_value, X0>> {};

/// Whether a store keeps all states of a chain.
template <class Memory, class Store> inline constexpr bool stores_all = true;
template <class Stages, class X0, class Bar, std::size_t... Place, class Store>
  requires(!std::is_same_v<Store, no_chain_store>)
inline constexpr bool stores_all<chain_tuple<Stages, X0, Bar, std::index_sequence<Place...>>, Store> =
    (chain_store<Store, typename state_in<Stages, X0, Place + 1>::type> && ...);
template <class Stages, class X0, class Bar, class Store>
requires(!std::is_same_v<Store, no_chain_store>) inline constexpr bool stores_all<chain_list<Stages, X0, Bar>, Store> =
    chain_store<Store, typename list_types<Stages, X0, Bar>::state>;

}  // namespace detail

/// The adjoint of the initial state of a chain of stages.
///
/// Obeys the plan action by action, as `replay` counts it: runs the same stages, with the same peak in bytes if the
/// plan's chain has the sizes of these states, tapes and adjoints (see `chain_probe`). In addition a vector of stages
/// takes 8 (2 L + 1) bytes of pointers, and a store L + 1 bytes of notes. States are made in place and never copied or
/// moved; x0 stays where it is. The result has the same bits for every plan if record gives the same bits as forward.
/// Stages sum up gradients with respect to parameters in objects of their own; each adjoint runs exactly once.
/// \param stages  a std::tuple of stages, each with types of its own, or of references to them; a std::vector of
///   stages, for example of `any_stage`; or `indexed_stages{count, stage}`. For what a stage is see `stage` and
///   `taped_stage`
/// \param x0  the initial state
/// \param plan  a list of `chain_actions`, or an object with a member `actions`: a `chain_plan`
/// \param seed  the adjoint of the last state, or `seed(x)` that makes it, called once. For `any_stage`, seed(x) must
///   name the type of x, or take a stage_view
/// \param rest  in any order: an observer, called with an `event` before and after every action and `done`, in which
///   stages are steps, and the slot of each state and tape is its number; a `chain_store`, for plans that save; an
///   lvalue `sweep_failure`, which receives the position of an exception; `sweep_options`: with a `replay_check`,
///   states that are made again or loaded are compared with their first value, with `checkpoints` at the end of each
///   recomputation, with `every_step` all of them; 8 to 9 bytes per state
/// \returns the adjoint of x0; for `any_stage` in a stage_value
/// \throws invalid_schedule, invalid_plan   before any stage runs, for a plan that these stages cannot obey
/// \throws nondeterminism_error   from a replay check, in which stages are steps
/// \throws anything   that stages, seed, store and observer throw, unchanged, after everything held is released
template <class Stages, class X0, class Plan, class Seed, class... Rest>
auto chain_gradient(Stages&& stages, X0 const& x0, Plan const& plan, Seed&& seed, Rest&&... rest) {
  using S = std::remove_reference_t<Stages>;
  if constexpr (!detail::check_stages<detail::fault_of_chain_forward<S, X0, Plan>()>())
    return detail::refuse<typename detail::refused_adjoint<S, X0>::type>();
  else {
    using types = detail::chain_types<S, X0>;
    using Seeded = detail::seed_result<Seed, typename types::last>;
    using Bar = typename detail::bar_from<Seed, typename types::last>::type;
    if constexpr (!detail::check_stages<detail::fault_of_chain_backward<S, X0, Seed, Seeded, Bar>()>())
      return detail::refuse<typename detail::refused_adjoint<S, X0>::type>();
    else if constexpr (!detail::check_stages<detail::fault_of_extras<Rest...>()>())
      return detail::refuse<typename detail::refused_adjoint<S, X0>::type>();
    else {
      using memory = typename types::template memory<Bar>;
      detail::no_chain_store nowhere;
      no_observer nobody;
      sweep_failure unasked;
      auto& store = detail::one_of<detail::is_chain_store<Rest>...>(nowhere, rest...);
      auto& observer = detail::one_of<detail::is_observer<Rest>...>(nobody, rest...);
      sweep_failure& failure = detail::one_of<detail::is_failure<Rest>...>(unasked, rest...);
      using Store = std::remove_reference_t<decltype(store)>;
      if constexpr (!detail::check_stages < detail::stores_all<memory, Store> ? detail::stage_fault::none
                                                                              : detail::stage_fault::store > ())
        return detail::refuse<typename detail::refused_adjoint<S, X0>::type>();
      else {
        constexpr char const* who = "cairn::chain_gradient";
        auto const& actions = detail::actions_in(plan);
        failure = {};
        if constexpr (detail::of_any_stages<S>) detail::check_any_stages<X0, Seeded>(stages, who);
        detail::check_chain_plan<memory, Store>(actions, stages, who);
        auto const sweep = [&](auto&& replay) {
          memory run{stages, x0};
          detail::obey_chain_plan(run, stages, actions, std::forward<Seed>(seed), store, observer, failure, replay);
          return run.take_adjoint();
        };
        constexpr bool checks = (detail::is_options<Rest> || ... || false);
        if constexpr (!checks) return sweep(detail::no_chain_replay{});
        else if constexpr (!detail::check_stages < memory::states_may_be_hashed ? detail::stage_fault::none
                                                                                : detail::stage_fault::unhashed > ())
          return detail::refuse<typename detail::refused_adjoint<S, X0>::type>();
        else {
          sweep_options none;
          return sweep(detail::chain_replay{detail::one_of<detail::is_options<Rest>...>(none, rest...).verify, actions,
                                            memory::count_of(stages), who});
        }
      }
    }
  }
}

}  // namespace cairn
