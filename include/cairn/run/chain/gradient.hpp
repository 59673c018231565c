// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file gradient.hpp  The adjoint of a chain of different stages, by a plan within a memory budget. Not part of
/// <cairn/cairn.hpp>.
#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <utility>
#include <cairn/core/detail/table.hpp>
#include <cairn/core/event.hpp>
#include <cairn/door/detail/stage_checks.hpp>
#include <cairn/rules/chain.hpp>
#include <cairn/rules/detail/replay_ledger.hpp>
#include <cairn/rules/replay_check.hpp>
#include <cairn/run/chain/detail/checks.hpp>
#include <cairn/run/chain/detail/seed.hpp>
#include <cairn/run/chain/detail/sweep.hpp>
#include <cairn/run/chain/store.hpp>
#include <cairn/run/sweep/detail/action_range.hpp>
#include <cairn/run/sweep/detail/end_hash.hpp>
#include <cairn/run/sweep/detail/given_parts.hpp>
#include <cairn/run/sweep/detail/one_of.hpp>
#include <cairn/run/sweep/sweep_report.hpp>

namespace cairn {
namespace detail {

/// No replay check.
struct no_chain_replay {
  template <class Chain>
  void made(Chain const&, step_index) const noexcept {}
  template <class Chain>
  void came_back(Chain const&, step_index) const noexcept {}
  template <class Chain>
  void loaded(Chain&, step_index) const noexcept {}
  void begins_anew(step_index) const noexcept {}
};

/// With `every_step`, compares each state that is made again; with `checkpoints`, only the last state of each
/// recomputation, which also shows earlier differences that persist. The list of actions says beforehand which states
/// these are, so that no other state is hashed. Memory: 8 bytes per state, with `checkpoints` 9.
class chain_replay {
 public:
  /// \pre the stages can obey the plan
  template <class Actions>
  chain_replay(replay_check mode, Actions const& actions, step_index stages, char const* who) : mode_{mode}, who_{who} {
    begins_anew(stages);
    if (mode == replay_check::checkpoints) choose(actions, stages);
  }
  /// Nothing is known of the states of `stages` stages.
  void begins_anew(step_index stages) {
    if (mode_ != replay_check::off) ledger_.begin({.mode = replay_check::every_step, .steps = stages});
    last_ = -1, from_ = 0;
  }

  /// State i has been made, by a run of the stage before it.
  /// \throws nondeterminism_error   if a state differs from its first value   \throws invalid_call   if its bytes are
  ///   unknown
  template <class Chain>
  void made(Chain const& run, step_index i) {
    if (mode_ == replay_check::off) return;
    if (i - 1 != last_) from_ = i - 1;
    last_ = i;
    if (mode_ == replay_check::checkpoints && chosen_[std::size_t(i)] == 0) return;
    if (!agrees(run, i)) refuse_replayed(i, mode_ == replay_check::every_step ? i - 1 : from_);
  }
  /// State i has been loaded. The first one is run on by a stage, whose result is compared and dropped: if nothing runs
  /// again, only this shows what a store has left out.
  template <class Chain>
  void loaded(Chain& run, step_index i) {
    came_back(run, i);
    if (std::uint64_t const end = mode_ == replay_check::off ? 0 : ledger_.end_to_try(i); end != 0)
      if (run.hash_of_forward(i) != end) refuse_restored(i + 1, -1);
  }
  /// State i has been saved or loaded.   \throws nondeterminism_error, invalid_call   as `made`
  template <class Chain>
  void came_back(Chain const& run, step_index i) {
    if (mode_ == replay_check::off) return;
    last_ = i;
    if (!agrees(run, i)) refuse_loaded(i);
  }

 private:
  /// Compares state i with its first value.
  template <class Chain>
  [[nodiscard]] bool agrees(Chain const& run, step_index i) {
    if (!ledger_.note(i, hash_of_kept(run, i, i, who_))) return false;
    from_ = i;
    return true;
  }
  /// Marks the last state of each recomputation, and the one after the first state that is loaded.
  template <class Actions>
  void choose(Actions const& actions, step_index stages) {
    chosen_.assign(std::size_t(stages) + 1, 0);
    table<unsigned char> made(std::size_t(stages) + 1);
    step_index again = -1, last = -1;
    auto const end_stretch = [&] {
      if (again >= 0) chosen_[std::size_t(again)] = 1;
      again = -1;
    };
    action const* const list = actions.data();
    bool loads = false;
    for (std::size_t k = 0; k < actions.size(); ++k) {
      if (list[k].kind == action_kind::load && list[k].from < stages && !std::exchange(loads, true))
        chosen_[std::size_t(list[k].from) + 1] = 1;
      if (!runs_stage(list[k])) continue;
      step_index const i = list[k].to;
      if (list[k].from != last) end_stretch();
      if (made[std::size_t(i)] != 0) again = i;
      made[std::size_t(i)] = 1;
      last = i;
    }
    end_stretch();
  }

  replay_check mode_;
  char const* who_;
  replay_ledger ledger_;
  table<unsigned char> chosen_;
  step_index last_ = -1;  ///< the state that was made or loaded last
  step_index from_ = 0;   ///< the state before the first stage whose result has not been compared
};

/// The arguments that may follow the seed.
template <class T>
inline constexpr bool is_chain_store = keeps_chain_states<std::remove_reference_t<T>> || keeps_runs<T>;
template <class T>
inline constexpr bool is_observer =
    !is_failure<T> && !is_chain_store<T> && !is_options<T> && !is_wrt<T> && !is_report<T> && observes<T>;

template <class... Rest>
[[nodiscard]] consteval stage_fault fault_of_extras() {
  constexpr bool known = ((is_failure<Rest> || is_chain_store<Rest> || is_observer<Rest> || is_options<Rest> ||
                           is_wrt<Rest> || is_report<Rest>)&&...);
  if constexpr (!known) return stage_fault::extra;
  else {
    constexpr bool once = at_most_one<is_failure<Rest>...> && at_most_one<is_chain_store<Rest>...> &&
                          at_most_one<is_observer<Rest>...> && at_most_one<is_options<Rest>...> &&
                          at_most_one<is_wrt<Rest>...> && at_most_one<is_report<Rest>...>;
    return once ? stage_fault::none : stage_fault::twice;
  }
}
/// The parameters among the arguments that follow the seed.
template <class... Rest>
using chain_wrt = std::remove_cvref_t<decltype(one_of<is_wrt<Rest>...>(std::declval<no_wrt&>(),
                                                                       std::declval<Rest&>()...))>;
/// The likely result type of a refused call.
template <class Given, class X0>
struct refused_adjoint : first_returned<std::conditional_t<Given::of_any, stage_value, X0>> {};

template <class Given, class... Rest>
inline constexpr stage_fault fault_on_disk =
    Given::of_any && kept_on_disk<Rest...> ? stage_fault::any_on_disk : stage_fault::none;

/// Whether a store keeps all states of a chain. What runs whole sweeps says itself what it needs.
template <class Memory, class Store> inline constexpr bool stores_all = true;
template <class Given, class X0, class Bar, std::size_t... Place, class Store>
  requires(!std::is_same_v<Store, no_chain_store> && !keeps_runs<Store>)
inline constexpr bool stores_all<chain_tuple<Given, X0, Bar, std::index_sequence<Place...>>, Store> =
    (chain_store<Store, typename state_in<Given, X0, Place + 1>::type> && ...);
template <class Given, class X0, class Bar, class Store>
  requires(!std::is_same_v<Store, no_chain_store> && !keeps_runs<Store>)
inline constexpr bool stores_all<chain_list<Given, X0, Bar>, Store> =
    chain_store<Store, typename list_types<Given, X0, Bar>::state>;

/// The store among the arguments that follow the seed.
template <class... Rest>
using chain_store_in = std::remove_reference_t<decltype(one_of<is_chain_store<Rest>...>(std::declval<no_chain_store&>(),
                                                                                        std::declval<Rest&>()...))>;
template <class... Rest> inline constexpr bool asks_for_checks = (is_options<Rest> || ... || false);

template <class Memory, class Store>
[[nodiscard]] consteval stage_fault fault_of_chain_store() {
  return stores_all<Memory, Store> ? stage_fault::none : stage_fault::store;
}
template <class Memory, class... Rest>
[[nodiscard]] consteval stage_fault fault_of_chain_checks() {
  if constexpr (!asks_for_checks<Rest...>) return stage_fault::none;
  else return Memory::states_may_be_hashed ? stage_fault::none : stage_fault::unhashed;
}

/// The replay check that options ask for.
template <class Memory, class Actions, class Given, class... Rest>
[[nodiscard]] auto chain_replay_for([[maybe_unused]] Actions const& actions, [[maybe_unused]] Given const& given,
                                    [[maybe_unused]] Rest&... rest) {
  if constexpr (!asks_for_checks<Rest...>) return no_chain_replay{};
  else {
    sweep_options none;
    return chain_replay{one_of<is_options<Rest>...>(none, rest...).verify, actions, Memory::count_of(given),
                        "cairn::chain_gradient"};
  }
}
/// The caller's observer, which also fills in the report, if there is one.
template <class Observer, class Plan, class Store, class... Rest>
[[nodiscard]] decltype(auto) chain_observer(Observer& observer, [[maybe_unused]] Plan const& plan,
                                            [[maybe_unused]] Store& store, [[maybe_unused]] step_index count,
                                            [[maybe_unused]] Rest&... rest) {
  if constexpr (!(is_report<Rest> || ... || false)) return (observer);
  else {
    sweep_report none;
    sweep_report& report = one_of<is_report<Rest>...>(none, rest...);
    report = {};
    if constexpr (!kept_on_disk<Rest...>) note_peak(report, plan);
    else note_peak(report, plan, Store::keeps_runs::chain_bytes(store, count));
    return reporting<Observer&>{observer, report};
  }
}

/// Everything after the checks of `chain_gradient`.
template <class Given, class X0, class Plan, class Seed, class Wrt, class... Rest>
auto run_chain(Given const& given, X0 const& x0, Plan const& plan, Seed&& seed, Wrt const& by, Rest&... rest) {
  using types = chain_sweep<Given, X0, Seed, Wrt>;
  using memory = typename types::memory;
  constexpr char const* who = "cairn::chain_gradient";
  no_chain_store no_store;
  no_observer nobody;
  sweep_failure unasked;
  auto& store = one_of<is_chain_store<Rest>...>(no_store, rest...);
  auto& asked = one_of<is_observer<Rest>...>(nobody, rest...);
  sweep_failure& failure = one_of<is_failure<Rest>...>(unasked, rest...);
  auto const& actions = actions_in(plan);
  auto const& with = params_of(by);
  watched_params const watch{with.p};
  set_zero(with.p, with.dp);
  failure = {};
  if constexpr (Given::of_any) check_any_stages<X0, typename types::seeded>(given, who);
  check_chain_plan<memory, chain_store_in<Rest...>>(actions, given, who);
  step_index const count = memory::count_of(given);
  auto&& observer = chain_observer(asked, plan, store, count, rest...);
  auto replay = chain_replay_for<memory>(actions, given, rest...);
  auto&& from = chain_seed<typename types::last>(std::forward<Seed>(seed), by, watch);
  using seed_type = typename types::seed;
  constexpr bool reports = (is_report<Rest> || ... || false);
  try {
    if constexpr (kept_on_disk<Rest...>) {
      using parts_type = given_parts<typename Given::stages_type, no_terms, std::remove_reference_t<Seed>,
                                     std::remove_cvref_t<decltype(with.p)>, std::remove_reference_t<decltype(with.dp)>>;
      parts_type const parts{address_of(given.stages), nullptr, address_of(seed), &with.p, &with.dp};
      wide runs = 0;
      auto bar = std::remove_cvref_t<decltype(store)>::keeps_runs::template chain<memory>(
          store, parts, given, x0, plan, std::forward<seed_type>(from), observer, failure, replay, runs);
      if constexpr (reports) observer.ends(count, 0, runs);
      watch.check(who);
      return bar;
    } else {
      memory run{given, x0};
      obey_chain_plan(run, given, actions, std::forward<seed_type>(from), store, observer, failure, replay);
      if constexpr (reports) observer.ends(count, 0, observer.runs());
      watch.check(who);
      return run.take_adjoint();
    }
  } catch (nondeterminism_error const&) {
    watch.check(who);  // it would be the cause
    throw;
  }
}

}  // namespace detail

/// The adjoint of the initial state of a chain of stages.
///
/// Obeys the plan action by action, as `replay` counts it: runs the same stages, with the same peak in bytes if the
/// plan's chain has the sizes of these states, tapes and adjoints (see `chain_probe`). In addition a vector of stages
/// takes 8 (2 L + 1) bytes of pointers, and a store L + 1 bytes of notes. States are made in place and never copied or
/// moved; x0 stays where it is. The result has the same bits for every plan if record gives the same bits as forward.
/// Gradients with respect to parameters are summed into the dp of a `wrt`, or by stages into objects of their own; each
/// adjoint runs exactly once.
/// \param stages  a std::tuple of stages, each with types of its own, or of references to them; a std::vector of
///   stages, for example of `any_stage`; or `indexed_stages{count, stage}`. For what a stage is see `stage` and
///   `taped_stage`
/// \param x0  the initial state
/// \param plan  a list of `chain_actions`, or an object with a member `actions`: a `chain_plan`
/// \param seed  the adjoint of the last state, or `seed(x)` that makes it, called once. For `any_stage`, seed(x) must
///   name the type of x, or take a stage_view
/// \param rest  in any order: an observer, called with an `event` before and after every action and `done`, in which
///   stages are steps, and the slot of each state and tape is its number; a `chain_store`, for plans that save, or a
///   `disk`, with which a sweep goes on whose process was killed; an
///   lvalue `sweep_failure`, which receives the position of an exception; `sweep_options`: with a `replay_check`,
///   states that are made again or loaded are compared with their first value, with `checkpoints` at the end of each
///   recomputation, with `every_step` all of them; 8 to 9 bytes per state. The first state that a store brings back is
///   run on by its stage once more; for that moment one more state exists; `wrt{p, dp}`: forward and record may take p,
///   and backward p and dp, after the values and before the stage's number, and the seed p and dp; backward must take
///   them if forward takes p; for a vector of stages 24 bytes per stage, of `any_stage` 40; a `sweep_report`; a
///   `collective` of the adapter for MPI: then all ranks run the chain together
/// \returns the adjoint of x0; for `any_stage` in a stage_value
/// \throws invalid_schedule, invalid_plan   before any stage runs, for a plan that these stages cannot obey
/// \throws nondeterminism_error   from a replay check, in which stages are steps
/// \throws invalid_call   if the parameters of a `wrt` change
/// \throws anything   that stages, seed, store and observer throw, unchanged, after everything held is released
template <class Stages, class X0, class Plan, class Seed, class... Rest>
auto chain_gradient(Stages&& stages, X0 const& x0, Plan const& plan, Seed&& seed, Rest&&... rest) {
  using Wrt = detail::chain_wrt<Rest...>;
  using Given = detail::chain_given_for<std::remove_reference_t<Stages>, Wrt>;
  using refused = detail::refused_adjoint<Given, X0>;
  if constexpr (detail::together<Rest...>) {
    if constexpr (!detail::check_together<true, false, Rest...>()) return detail::refuse<typename refused::type>();
    else {
      auto const run = [&](auto const&, auto&&... given) {
        return chain_gradient(stages, x0, plan, std::forward<Seed>(seed), std::forward<decltype(given)>(given)...);
      };
      return detail::by_ranks("cairn::chain_gradient", plan, run, std::forward<Rest>(rest)...);
    }
  } else if constexpr (!detail::check_stages<detail::fault_of_extras<Rest...>()>())
    return detail::refuse<typename refused::type>();
  else if constexpr (!detail::check_wrt<Wrt>()) return detail::refuse<typename refused::type>();
  else if constexpr (!detail::check_stages<detail::fault_on_disk<Given, Rest...>>())
    return detail::refuse<typename refused::type>();
  else if constexpr (!detail::check_stages<detail::fault_of_chain_forward<Given, X0, Plan>()>())
    return detail::refuse<typename refused::type>();
  else if constexpr (!detail::check_stages<detail::fault_of_chain_seed<Given, X0, Seed, Wrt>()>())
    return detail::refuse<typename refused::type>();
  else {
    using memory = typename detail::chain_sweep<Given, X0, Seed, Wrt>::memory;
    if constexpr (!detail::check_stages<detail::fault_of_chain_store<memory, detail::chain_store_in<Rest...>>()>())
      return detail::refuse<typename refused::type>();
    else if constexpr (!detail::check_stages<detail::fault_of_chain_checks<memory, Rest...>()>())
      return detail::refuse<typename refused::type>();
    else {
      detail::no_wrt none;
      Wrt const& by = detail::one_of<detail::is_wrt<Rest>...>(none, rest...);
      Given const given = detail::given_chain(stages, by);
      return detail::run_chain(given, x0, plan, std::forward<Seed>(seed), by, rest...);
    }
  }
}

}  // namespace cairn
