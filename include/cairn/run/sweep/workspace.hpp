// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file workspace.hpp  The memory of a sweep, which may outlive it.
#include <cstdint>
#include <type_traits>
#include <utility>
#include <cairn/core/detail/in_use.hpp>
#include <cairn/core/detail/state_hash.hpp>
#include <cairn/core/state_traits.hpp>
#include <cairn/rules/detail/replay_ledger.hpp>
#include <cairn/rules/open_schedule.hpp>
#include <cairn/rules/replay_check.hpp>
#include <cairn/run/sweep/detail/cached_object.hpp>
#include <cairn/run/sweep/detail/copied_states.hpp>
#include <cairn/run/sweep/detail/execute.hpp>
#include <cairn/run/sweep/detail/maybe.hpp>
#include <cairn/run/sweep/detail/replayed_states.hpp>
#include <cairn/run/sweep/detail/saved_states.hpp>
#include <cairn/schedule/remaining.hpp>
#include <cairn/store/memory.hpp>

namespace cairn {
namespace detail {

/// A copy of the plan during a sweep, to look up the tiers of its slots; empty if all slots are in memory.
template <class Plan, bool Tiers = requires(Plan const& plan) { plan.slot_tier(slot_index{}); }>
struct plan_tiers {
  void keep(Plan const&) noexcept {}
  /// Whether the plan says where each slot is.
  [[nodiscard]] static constexpr bool known() noexcept { return false; }
  [[nodiscard]] tier operator()(slot_index) const noexcept { return tier::memory; }
};
template <class Plan>
struct plan_tiers<Plan, true> {
  void keep(Plan const& adopted) { plan = adopted; }
  [[nodiscard]] bool known() const { return has_slot_tiers(*plan); }
  [[nodiscard]] tier operator()(slot_index slot) const { return slot_tier(*plan, slot); }
  maybe<Plan> plan;
};

/// Whether the plan is that of a loop of unknown length, which has no steps yet.
template <class Plan> inline constexpr bool is_open_plan = requires { requires bool(Plan::is_open); };
/// An open schedule as a schedule that has no steps yet.
template <class Plan>
struct open_plan : Plan {
  explicit open_plan(Plan const& plan) : Plan{plan} {}
  static constexpr bool is_open = true;
  [[nodiscard]] static constexpr step_index steps() noexcept { return 0; }
  [[nodiscard]] constexpr step_index leaf() const noexcept {
    if constexpr (requires(Plan const& plan) { plan.leaf(); }) return Plan::leaf();
    else return 1;
  }
};
/// The plan as workspaces know it.
template <class Plan>
using plan_in_workspace = typename std::conditional_t<open_schedule<Plan>, std::type_identity<open_plan<Plan>>,
                                                      std::type_identity<Plan>>::type;

/// The ledger of a sweep without replay check.
struct no_ledger {};

template <class State, class Plan, class Store, class Options>
class sweep;

/// The hash of the parameters of the last sweep in a workspace, 0 if it had none.
struct params_in {
  template <class Workspace>
  [[nodiscard]] static std::uint64_t& hash(Workspace& work) noexcept { return work.params_hash_; }
  /// Whether that sweep has stopped before its end.
  template <class Workspace>
  [[nodiscard]] static bool stopped(Workspace const& work) noexcept { return work.unfinished_; }
};

}  // namespace detail

/// The memory of a sweep: frames, tables and cursor. Pass the same workspace to every sweep, and a warm sweep allocates
/// nothing. One workspace serves one sweep at a time, and is not moved meanwhile. It keeps the memory of its states
/// until it is destroyed, a plan of another size is run, or `clear()` is called. `Store` holds the checkpoints; with a
/// reference type the caller owns the store. With `Options` = `sweep_options` its sweeps can compare what they
/// recompute, and it keeps the hashes, too.
/// \ingroup start
template <class State, schedule Plan, class Store = memory_store, class Options = no_options>
class workspace {
 public:
  workspace() = default;
  /// With checkpoints in `store`.
  explicit workspace(Store store) : states_{std::forward<Store>(store)} {}

  /// Phase, action and step of the exception that ended the last sweep, if there was one.
  [[nodiscard]] sweep_failure const& failure() const noexcept { return status_.failure; }
  /// Calls of the step (or of `record`) in the last sweep.
  [[nodiscard]] wide step_calls() const noexcept { return status_.ran; }
  /// The hash of the p of a `wrt` of the last sweep, for `resume_point::params`; 0 if it had none.
  [[nodiscard]] std::uint64_t params_hash() const noexcept { return params_hash_; }
  /// Frames available to the last sweep.
  [[nodiscard]] slot_index frame_count() const noexcept { return states_.frame_count(); }
  /// Frees the memory of frames, tapes, tables and hashes; the next sweep allocates it again. Ends a run that was kept
  /// here. A sweep that stopped can then be resumed only from a store that outlives its sweeps.
  /// \throws reentrancy_error   while a sweep runs here
  void clear() {
    if (busy_) detail::refuse_busy("cairn::workspace::clear");
    ++users_.value;
    states_.clear();
    walk_.reset();
    at_turn_.reset();
    rest_.reset();
    tapes_.clear();
    tier_of_ = {};
    status_ = {};
    initial_hash_ = params_hash_ = 0;
    unfinished_ = false;
    if constexpr (checked) ledger_ = {};
  }
  /// The store of its checkpoints.
  [[nodiscard]] std::remove_reference_t<Store>& store() noexcept { return states_.store(); }
  /// The options of its sweeps, from the next one on; options passed to a verb replace them.
  [[nodiscard]] Options& options() noexcept { return options_; }
  /// How many recomputed or loaded states the last sweep compared; 0 without a replay check.
  [[nodiscard]] std::uint64_t states_compared() const noexcept {
    if constexpr (checked) return ledger_.compared();
    else return 0;
  }

 private:
  template <class, class, class, class> friend class detail::sweep;
  friend detail::params_in;
  template <class, class, schedule, class, class, class> friend class checkpointed_run;

  static constexpr bool checked = !std::is_same_v<Options, no_options>;
  using store_type = std::remove_reference_t<Store>;
  using states_type =
      std::conditional_t<copied_state<State>, detail::copied_states<State, Store>, detail::saved_states<State, Store>>;

  detail::busy_mark busy_;  // first: a move that is refused has moved nothing
  states_type states_;
  detail::maybe<cursor_of<Plan>> walk_, at_turn_;  // at present, and at the turn of a kept run
  detail::maybe<cursor_of<remaining>> rest_;       // replaces the cursor once a sweep was replanned
  detail::cached_object tapes_;
  detail::plan_tiers<Plan> tier_of_;
  detail::sweep_status status_;
  step_index steps_ = 0, leaf_ = 1;
  slot_index slots_ = 0;
  detail::sweep_count users_;  // a kept run ends when another sweep begins here
  bool on_rest_ = false, turned_on_rest_ = false;  // whether `rest_` is in use, now and at the turn
  bool before_turn_is_missing_ = false;  // a kept run has the final state from elsewhere, and not yet that before it
  bool unfinished_ = false;  // the last sweep has not ended: `steps_`, `slots_` and `leaf_` are its plan's
  std::uint64_t initial_hash_ = 0;  // of the initial state of a stopped sweep, 0 if unknown
  std::uint64_t params_hash_ = 0;   // of the parameters of the last sweep, 0 if it had none
  [[no_unique_address]] Options options_;
  [[no_unique_address]] std::conditional_t<checked, detail::replay_ledger, detail::no_ledger> ledger_;
};

/// A workspace for sweeps of `plan` over states of type State, also for `checkpointed_while`; allocates with the first
/// sweep.
template <class State, detail::plan_of_sweeps Plan>
[[nodiscard]] workspace<State, detail::plan_in_workspace<Plan>> workspace_for(Plan const&) { return {}; }
/// The same with checkpoints in the caller's store, which must outlive the workspace.
template <class State, detail::plan_of_sweeps Plan, class Store>
[[nodiscard]] workspace<State, detail::plan_in_workspace<Plan>, Store&> workspace_for(Plan const&, Store& store) {
  return workspace<State, detail::plan_in_workspace<Plan>, Store&>{store};
}
/// A workspace whose sweeps have options.
template <class State, detail::plan_of_sweeps Plan>
[[nodiscard]] workspace<State, detail::plan_in_workspace<Plan>, memory_store, sweep_options> workspace_for(
    Plan const&, sweep_options options) {
  workspace<State, detail::plan_in_workspace<Plan>, memory_store, sweep_options> work;
  work.options() = options;
  return work;
}
/// A workspace with the caller's store whose sweeps have options; the store must outlive the workspace.
template <class State, detail::plan_of_sweeps Plan, class Store>
[[nodiscard]] workspace<State, detail::plan_in_workspace<Plan>, Store&, sweep_options> workspace_for(
    Plan const&, Store& store, sweep_options options) {
  workspace<State, detail::plan_in_workspace<Plan>, Store&, sweep_options> work{store};
  work.options() = options;
  return work;
}

namespace detail {

template <class Work, class State, class Plan> inline constexpr bool is_workspace_for = false;
template <class State, class Plan, class Store, class Options>
inline constexpr bool is_workspace_for<workspace<State, Plan, Store, Options>, State, Plan> = true;

/// Whether T is a workspace whose sweeps have options.
template <class T> inline constexpr bool has_options = false;
template <class State, class Plan, class Store, class Options>
inline constexpr bool has_options<workspace<State, Plan, Store, Options>> = is_options<Options>;

/// What `check_sweep_options` needs to know.   \tparam Last  the last arguments of a verb, as passed
template <class State, class Plan, class... Last>
struct options_asked {
  static constexpr bool given = (is_options<Last> || ... || false);
  static constexpr bool workspace = (is_workspace_for<std::remove_cvref_t<Last>, State, Plan> || ... || false);
  static constexpr bool in_workspace =
      ((is_workspace_for<std::remove_cvref_t<Last>, State, Plan> && has_options<std::remove_cvref_t<Last>>) || ... ||
       false);
  static constexpr int asked = (0 + ... + int(is_setting<Last>));
  static constexpr bool ends_object = (is_object_end<Last> || ... || false);
};

/// \tparam Asked  says whether the verb was given options anywhere (`given`), whether it was given a `workspace`, and
/// whether the workspace has options (`in_workspace`)
template <class State, class Asked>
consteval bool check_sweep_options() {
  constexpr bool once = Asked::asked <= 1, object = !once || !Asked::ends_object || saved_state<State>;
  constexpr bool fits = !Asked::given || Asked::in_workspace || !Asked::workspace;
  constexpr bool told = !fits || !(Asked::given || Asked::in_workspace) || hashable<stored_as<State>>;
  static_assert(once,
                "cairn: options are given in two places; give them once, with where an object ends as a member, "
                "`sweep_options{.object = ...}`");
  static_assert(object,
                "cairn: object_ends says where an object with save() and restore() is left, but this state is copied; "
                "leave it out");
  static_assert(fits,
                "cairn: this workspace keeps no hashes; make it for sweeps with options, by "
                "`cairn::workspace_for<State>(plan, options)`");
  static_assert(
      told,
      "cairn: the replay check cannot determine which bytes of this state, or of its snapshot, are padding; give it a "
      "member visit_buffers(f) or specialise cairn::state_traits with visit_buffers(state, f)");
  return once && object && fits && told;
}

}  // namespace detail
}  // namespace cairn
