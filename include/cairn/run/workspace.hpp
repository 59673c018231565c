#pragma once
/// \file workspace.hpp  The memory of a sweep, which may outlive it: with a kept workspace a warm sweep allocates
/// nothing.
#include <cstddef>
#include <cstdint>
#include <optional>
#include <type_traits>
#include <utility>
#include <cairn/core/detail/option_checks.hpp>
#include <cairn/core/detail/state_hash.hpp>
#include <cairn/core/error.hpp>
#include <cairn/core/frames_needed.hpp>
#include <cairn/core/replay_check.hpp>
#include <cairn/core/state_traits.hpp>
#include <cairn/run/detail/copied_states.hpp>
#include <cairn/run/detail/execute.hpp>
#include <cairn/run/detail/kept_object.hpp>
#include <cairn/run/detail/replayed_states.hpp>
#include <cairn/run/detail/saved_states.hpp>
#include <cairn/schedule/remaining.hpp>
#include <cairn/store/memory.hpp>

namespace cairn {
namespace detail {

/// A plan for as long as a sweep, for where its slots lie; nothing where all lie in memory.
template <class Plan, bool Tiers = requires(Plan const& plan) { plan.slot_tier(slot_index{}); }>
struct kept_plan {
  void keep(Plan const&) noexcept {}
  [[nodiscard]] tier operator()(slot_index) const noexcept { return tier::memory; }
};
template <class Plan>
struct kept_plan<Plan, true> {
  void keep(Plan const& adopted) { plan = adopted; }
  [[nodiscard]] tier operator()(slot_index slot) const { return slot_tier(*plan, slot); }
  std::optional<Plan> plan;
};

/// What a sweep has that compares nothing.
struct no_ledger {};

/// What one sweep needs: states, cursor, and where it stands. A lost checkpoint or a resumed sweep puts `rest` in the
/// cursor's place.
/// \tparam Options  whether there is a replay check; which one is told when the sweep runs
template <class State, schedule Plan, class Store, class Options>
struct engine {
  static constexpr bool checked = !std::is_same_v<Options, no_options>;
  using store_type = std::remove_reference_t<Store>;
  using states_type = std::conditional_t<copied_state<State>, copied_states<State, Store>, saved_states<State, Store>>;

  states_type states;
  std::optional<cursor_of<Plan>> walk, at_turn;  ///< now, and where a kept run begins its way back
  std::optional<cursor_of<remaining>> rest;
  kept_object tapes;
  kept_plan<Plan> tier_of;
  sweep_status status;
  step_index steps = 0, leaf = 1;
  slot_index slots = 0;
  std::uint64_t users = 0;  ///< sweeps that began here: a kept run is over when another one begins
  bool resumed = false;
  bool busy = false;
  std::uint64_t initial_hash = 0;  ///< of the initial state of a sweep that has stopped, 0 where it is not known
  [[no_unique_address]] Options options;
  [[no_unique_address]] std::conditional_t<checked, replay_ledger, no_ledger> ledger;

  engine() = default;
  explicit engine(Store store) : states{std::forward<Store>(store)} {}

  /// Before the first action of a plan.
  void begin(Plan const& adopted) {
    adopt(adopted);
    walk = adopted.walk();
  }
  /// The same for a sweep that goes on, whose actions `replan` finds.
  void adopt(Plan const& adopted) {
    ++users;
    tier_of.keep(adopted);
    steps = adopted.steps();
    leaf = adopted.leaf();
    slots = adopted.slots();
    resumed = false;
    initial_hash = 0;
    status = {};
    status.open = steps;
  }

  /// The states, as the actions of a sweep get them.
  [[nodiscard]] decltype(auto) watched() noexcept {
    if constexpr (checked) return replayed_states<State, states_type>{states, ledger, status};
    else return (states);
  }
  /// Before the states of a sweep take their memory. \throws out_of_memory
  void begin_check([[maybe_unused]] Plan const& adopted, [[maybe_unused]] bool keeps_run,
                   [[maybe_unused]] bool knows_length) {
    if constexpr (checked) ledger.begin(check_setup(adopted, keeps_run, knows_length));
  }
  /// The same for a sweep that goes on. Frames that stand hold what this workspace hashed; a store that outlives them
  /// may hold anything.
  void begin_check_again([[maybe_unused]] Plan const& adopted) {
    if constexpr (checked) ledger.begin_again(check_setup(adopted, false, true), status.open, keeps_frames<store_type>);
  }
  /// The state from which a sweep starts, before its first step.
  void check_initial_state() {
    if constexpr (checked)
      if (ledger.on()) check_initial_state(hash_of_state(states.live()));
  }
  /// The same by its hash. \throws nondeterminism_error where a sweep goes on from another one
  void check_initial_state([[maybe_unused]] std::uint64_t hash) {
    if constexpr (checked)
      if (ledger.on() && !ledger.kept(ledger.initial_place(), 0, hash)) ledger.fail_brought_back(0);
  }
  /// Replans what is left of the sweep around the states that are still there: `state_in(slot)` says which, -1 for
  /// none, `tier_in(slot)` where.
  template <class StateIn, class TierIn>
  void replan(StateIn state_in, TierIn tier_in) {
    remaining const left{{steps, status.open, status.turned, slots, leaf}, state_in, tier_in};
    rest = left.walk();
    resumed = true;
  }
  /// The same around what this sweep has kept, where it kept it: a plan may use tiers and not say which slot lies
  /// where.
  void replan_around_held() {
    auto const held = [this](slot_index slot) -> auto const& { return states.held()[std::size_t(slot)]; };
    replan([&](slot_index slot) { return held(slot).at; },
           [&](slot_index slot) { return held(slot).at < 0 ? tier_of(slot) : held(slot).where; });
  }
  /// Obeys actions until something other than a lost checkpoint stops the sweep.
  template <class Step, class User, class Observer>
  stop_reason run_plan(Step& step, User& user, Observer& observer) {
    if constexpr (may_lose<store_type>) {
      if (resumed) return run_rest(step, user, observer);
      auto&& running = watched();
      stop_reason const answer = execute(*walk, running, step, user, observer, status);
      if (answer != stop_reason::lost) return answer;
      replan_after_loss(user);
      return run_rest(step, user, observer);
    } else {
      auto&& running = watched();
      return execute(*walk, running, step, user, observer, status);
    }
  }
  template <class Step, class User, class Observer>
  stop_reason run_rest(Step& step, User& user, Observer& observer) {
    auto&& running = watched();
    for (;;) {
      stop_reason const answer = execute(*rest, running, step, user, observer, status);
      if constexpr (may_lose<store_type>) {
        if (answer == stop_reason::lost) {
          replan_after_loss(user);
          continue;
        }
      }
      return answer;
    }
  }
  template <class User>
  void replan_after_loss(User& user) {
    user.drop_all_tapes();
    replan_around_held();
  }

 private:
  [[nodiscard]] replay_ledger::setup check_setup(Plan const& adopted, bool keeps_run, bool knows_length) const {
    return {options.verify,    knows_length ? adopted.steps() : replay_ledger::unknown,
            adopted.leaf(),    adopted.slots(),
            tapes_of(adopted), keeps_run};
  }
};

/// Notes the hash of the initial state if the sweep stops before `ended`, so that `resume` knows it again; a sweep that
/// ends pays nothing.
template <class Engine>
struct stopped_note {
  Engine& run;
  bool ended = false;
  stopped_note(stopped_note const&) = delete;
  explicit stopped_note(Engine& of) noexcept : run{of} {}
  ~stopped_note() {
    if (!ended) note();
  }

 private:
  [[gnu::noinline, gnu::cold]] void note() noexcept {
    try {
      if (std::uint64_t const hash = run.states.hash_of_initial(); hash != 0) run.initial_hash = hash;
    } catch (...) {  // what the user's visit_buffers throws: nothing is known then
    }
  }
};

/// Marks a workspace as in use.
struct in_use {
  bool& busy;
  in_use(bool& flag, char const* operation) : busy{flag} {
    if (busy)
      throw reentrancy_error{operation,
                             "this workspace is in use by a sweep that has not ended",
                             {},
                             "give each nested sweep a workspace of its own"};
    busy = true;
  }
  in_use(in_use const&) = delete;
  ~in_use() { busy = false; }
};

struct workspace_access;

}  // namespace detail

/// The memory of a sweep: frames, tables and cursor. Keep one and hand it to every sweep, and a warm sweep allocates
/// nothing. One workspace serves one sweep at a time. What its states took stays with it until it is destroyed or a
/// plan of another size comes. `Store` is where checkpoints live; a reference type leaves it with the caller. `Options`
/// is `sweep_options` for sweeps that compare what they run again, whose hashes it keeps, too.
template <class State, schedule Plan, class Store = memory_store, class Options = no_options>
class workspace {
 public:
  workspace() = default;
  /// With checkpoints in `store`.
  explicit workspace(Store store) : engine_{std::forward<Store>(store)} {}

  /// Phase, action and step of the exception that ended the last sweep, if one did.
  [[nodiscard]] sweep_failure const& failure() const noexcept { return engine_.status.failure; }
  /// Calls of the step (or of `record`) in the last sweep.
  [[nodiscard]] wide step_calls() const noexcept { return engine_.status.ran; }
  /// Frames that the last sweep had at its disposal.
  [[nodiscard]] slot_index frame_count() const noexcept { return engine_.states.frame_count(); }
  /// Where its checkpoints live.
  [[nodiscard]] std::remove_reference_t<Store>& store() noexcept { return engine_.states.store(); }
  /// What its sweeps do beside their plan, from the next one on; options that a verb is given replace it.
  [[nodiscard]] Options& options() noexcept { return engine_.options; }
  /// How often the last sweep compared a state that was run again or brought back; 0 without a replay check.
  [[nodiscard]] std::uint64_t states_compared() const noexcept {
    if constexpr (std::is_same_v<Options, no_options>) return 0;
    else return engine_.ledger.compared();
  }

 private:
  friend detail::workspace_access;
  detail::engine<State, Plan, Store, Options> engine_;
};

/// A workspace for sweeps of `plan` over states of a type; its memory comes with the first sweep.
template <class State, schedule Plan>
[[nodiscard]] workspace<State, Plan> workspace_for(Plan const&) { return {}; }
/// The same with checkpoints in the caller's store, which must outlive the workspace.
template <class State, schedule Plan, class Store>
[[nodiscard]] workspace<State, Plan, Store&> workspace_for(Plan const&, Store& store) {
  return workspace<State, Plan, Store&>{store};
}
/// A workspace whose sweeps have options.
template <class State, schedule Plan>
[[nodiscard]] workspace<State, Plan, memory_store, sweep_options> workspace_for(Plan const&, sweep_options options) {
  workspace<State, Plan, memory_store, sweep_options> work;
  work.options() = options;
  return work;
}
/// The same with checkpoints in the caller's store, which must outlive the workspace.
template <class State, schedule Plan, class Store>
[[nodiscard]] workspace<State, Plan, Store&, sweep_options> workspace_for(Plan const&, Store& store,
                                                                          sweep_options options) {
  workspace<State, Plan, Store&, sweep_options> work{store};
  work.options() = options;
  return work;
}

namespace detail {

/// The way from the public workspace to its engine, for the verbs.
struct workspace_access {
  template <class Workspace>
  [[nodiscard]] static auto& engine_of(Workspace& work) noexcept { return work.engine_; }
};

template <class W, class State, class Plan> inline constexpr bool is_workspace_for = false;
template <class State, class Plan, class Store, class Options>
inline constexpr bool is_workspace_for<workspace<State, Plan, Store, Options>, State, Plan> = true;

/// The options that a workspace has, or none.
template <class W> struct options_in { using type = no_options; };
template <class State, class Plan, class Store, class Options>
struct options_in<workspace<State, Plan, Store, Options>> { using type = Options; };

/// What `check_sweep_options` must know.   \tparam Work, Last  the last arguments of a verb, as they were handed over
template <class State, class Plan, class Work, class... Last>
struct options_asked {
  using W = std::remove_cvref_t<Work>;
  static constexpr bool given = is_options<Work> || (is_options<Last> || ...);
  static constexpr bool workspace = is_workspace_for<W, State, Plan>;
  static constexpr bool kept = is_options<typename options_in<W>::type>;
};

}  // namespace detail
}  // namespace cairn
