#pragma once
/// \file sweep.hpp  Obeys the actions of a plan for a chain: the one loop of its sweeps.
#include <cstddef>
#include <type_traits>
#include <utility>
#include <cairn/core/chain.hpp>
#include <cairn/core/detail/chain_walk.hpp>
#include <cairn/core/error.hpp>
#include <cairn/core/event.hpp>
#include <cairn/run/chain/store.hpp>
#include <cairn/run/detail/execute.hpp>

namespace cairn::detail {

/// A list of actions in memory.
template <class P>
concept chain_actions = requires(P const& list) {
  { list.data() } -> std::convertible_to<chain_action const*>;
  { list.size() } -> std::convertible_to<std::size_t>;
};
/// A list of actions, or what has one called `actions`.
template <class P>
concept chain_plan_like = chain_actions<P> || requires(P const& plan) { requires chain_actions<std::remove_cvref_t<decltype(plan.actions)>>; };
template <chain_plan_like P>
[[nodiscard]] constexpr auto const& actions_in(P const& plan) noexcept {
  if constexpr (chain_actions<P>) return plan;
  else return plan.actions;
}

/// What observers see of an action of a chain, in the words of loops: stages are steps, and each state and tape has its number for a slot.
[[nodiscard]] constexpr action seen_as(chain_action const& a) noexcept {
  step_index const i = a.stage;
  switch (a.kind) {
    case chain_action_kind::forward: return {action_kind::advance, tier::memory, content::state, no_slot, i, i + 1};
    case chain_action_kind::record: return {action_kind::record, tier::memory, content::tape, i, i, i + 1};
    case chain_action_kind::drop: return {action_kind::drop, a.where, content::state, i, 0, 0};
    case chain_action_kind::drop_tape: return {action_kind::drop, tier::memory, content::tape, i, 0, 0};
    case chain_action_kind::loss: return {action_kind::turn, tier::memory, content::state, no_slot, i, i};
    case chain_action_kind::backward: return {action_kind::reverse, tier::memory, content::tape, i, i, i + 1};
    case chain_action_kind::save: return {action_kind::save, a.where, content::state, i, i, 0};
    case chain_action_kind::load: break;
  }
  return {action_kind::load, a.where, content::state, i, i, 0};
}

/// \throws invalid_schedule, invalid_plan   where the stages could not obey it
template <class Chain, class Store, class Actions, class Stages>
void check_chain_plan(Actions const& actions, Stages& stages, char const* who) {
  step_index const count = Chain::count_of(stages);
  if (count < 0) throw invalid_plan{who, "the number of stages is negative", {{"stages", count}}, "give 0 or more"};
  chain_walk walk{count, named_tiers::every(), who};
  chain_action const* const list = actions.data();
  for (std::size_t k = 0; k < actions.size(); ++k) {
    chain_action const& a = list[k];
    bool const reads = a.kind == chain_action_kind::backward && a.stage >= 0 && a.stage < count && Chain::needs_state(stages, a.stage);
    walk.check(a, reads);
    if constexpr (std::is_same_v<Store, no_chain_store>)
      if (a.kind == chain_action_kind::save)
        throw invalid_plan{who, "the plan saves states to another tier, and there is no store for them", {{"action", k}, {"state", a.stage}, {"tier", int(a.where)}},
                           "hand over a store with save, load and drop behind the seed, or use a plan for memory alone"};
    walk.apply(a);
  }
  walk.finish();
}

/// Shows the observer an action; the live state is the one that it starts from, or after a run of a stage the one that this made.
template <class Chain, class Observer>
void tell_of_action(Chain const& run, chain_action const& a, phase where, moment when, Observer& observer) {
  struct look {
    Chain const* run;
    step_index live;
  };
  bool const made = when == moment::after && (a.kind == chain_action_kind::forward || a.kind == chain_action_kind::record);
  look const at{&run, a.stage + (made ? 1 : 0)};
  event::source const source{&at, [](void const* seen) { return static_cast<look const*>(seen)->run->bytes(); },
                             [](void const* seen, event::sink sink, void* context) {
                               auto const& [of, live] = *static_cast<look const*>(seen);
                               return of->visit(live, sink, context);
                             },
                             clock_of<Observer>()};
  action const what = seen_as(a);
  observer(event{what, where, when, source});
}

/// One sweep; what throws leaves through here, and is noted.
template <class Chain, class Actions, class Seed, class Store, class Observer, class Replay>
void obey_chain_plan(Chain& run, step_index stages, Actions const& actions, Seed&& seed, [[maybe_unused]] Store& store,
                     [[maybe_unused]] Observer& observer, sweep_failure& failure, Replay& replay) {
  [[maybe_unused]] saved_in<Store> saved{store, stages};
  bool turned = false;
  chain_action const* const list = actions.data();
  chain_action const* a = list;
  auto const phase_of = [&] { return a->kind == chain_action_kind::backward ? phase::reverse : turned ? phase::recompute : phase::forward; };
  try {
    for (; a != list + actions.size(); ++a) {
      if constexpr (observed<Observer>) tell_of_action(run, *a, phase_of(), moment::before, observer);
      switch (a->kind) {
        case chain_action_kind::forward: run.forward(a->stage); break;
        case chain_action_kind::record: run.record(a->stage); break;
        case chain_action_kind::drop:
          if constexpr (!std::is_same_v<Store, no_chain_store>) {
            if (a->where != tier::memory) {
              store.drop(a->where, a->stage);
              saved.forget(a->where, a->stage);
              break;
            }
          }
          run.drop(a->stage);
          break;
        case chain_action_kind::drop_tape: run.drop_tape(a->stage); break;
        case chain_action_kind::loss: run.loss(std::forward<Seed>(seed)); break;
        case chain_action_kind::backward: run.backward(a->stage); break;
        case chain_action_kind::save:
          if constexpr (!std::is_same_v<Store, no_chain_store>) {
            run.save(store, a->where, a->stage);
            saved.note(a->where, a->stage);
          }
          break;
        case chain_action_kind::load:
          if constexpr (!std::is_same_v<Store, no_chain_store>) run.load(store, a->where, a->stage);
          break;
      }
      replay.obeyed(run, *a);
      if constexpr (observed<Observer>) tell_of_action(run, *a, phase_of(), moment::after, observer);
      turned = turned || a->kind == chain_action_kind::loss;
    }
  } catch (...) {
    failure = {true, phase_of(), seen_as(*a), a->stage};
    throw;
  }
}

}  // namespace cairn::detail
