// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file sweep.hpp  A sweep, or a part of one, in the memory of a workspace.
#include <cstdint>
#include <type_traits>
#include <utility>
#include <cairn/core/detail/in_use.hpp>
#include <cairn/core/detail/state_hash.hpp>
#include <cairn/core/error.hpp>
#include <cairn/core/state_traits.hpp>
#include <cairn/door/detail/lending.hpp>
#include <cairn/door/forms.hpp>
#include <cairn/rules/frames_needed.hpp>
#include <cairn/rules/replay_check.hpp>
#include <cairn/run/sweep/detail/copied_states.hpp>
#include <cairn/run/sweep/detail/execute.hpp>
#include <cairn/run/sweep/detail/lost_states.hpp>
#include <cairn/run/sweep/detail/maybe.hpp>
#include <cairn/run/sweep/detail/replayed_states.hpp>
#include <cairn/run/sweep/detail/within_budget.hpp>
#include <cairn/run/sweep/workspace.hpp>
#include <cairn/schedule/remaining.hpp>
#include <cairn/store/memory.hpp>
#include <cairn/store/store.hpp>

namespace cairn::detail {

[[noreturn]] inline void refuse_initial_state() {
  throw invalid_call{
      "cairn::resume",
      "x0 is not the initial state of the sweep that stopped",
      {},
      "pass the state with which the sweep began; if an object was advanced, restore that state first"};
}
/// \param where  another tier than memory   \param states  that the plan keeps there   \param bytes  of one, 0 if unknown
[[noreturn, gnu::cold, gnu::noinline]] inline void refuse_tiers(char const* who, std::size_t where,
                                                                slot_index states, std::size_t bytes) {
  static constexpr char const* problems[tier_count] = {
      "", "the plan keeps states on a device, and the store of this sweep is memory alone",
      "the plan keeps states in pinned memory of the host, and the store of this sweep is memory alone",
      "the plan keeps states on disk, and the store of this sweep is memory alone"};
  named_value const values[] = {{"tier", std::int64_t(where)}, {"states", states},
                                {"bytes", std::int64_t(wide(states) * bytes)}};
  throw invalid_plan{who, problems[where], values, bytes > 0 ? 3u : 2u,
                     "give a store for that tier after the plan or the adjoint, or plan for memory alone; "
                     "cairn::in_memory{plan} keeps all of these states in memory"};
}
/// The counts in closed form if the plan knows them, because a walk of 2^63 steps does not end; else by a walk.
template <class Plan>
[[nodiscard]] schedule_counts counts_where_known(Plan const& plan) {
  if constexpr (counted_schedule<Plan>)
    if (knows_counts(plan)) return plan.counts();
  return walked_counts(plan);
}
/// Refuses a plan that names tiers which its store does not have. A plan that has slots elsewhere may not use them.
/// \throws invalid_plan
/// \param x0  the initial state, if it is known
template <class Store, class Plan, class... State>
void check_tiers(char const* who, Plan const& plan,
                 State const&... x0) {
  if constexpr (std::is_same_v<Store, memory_store>) {
    if (!leaves_memory(plan)) return;
    schedule_counts const counts = counts_where_known(plan);
    std::size_t bytes = 0;
    if constexpr ((sized_state<State> && ...)) ((bytes = bytes_of(x0)), ...);
    for (std::size_t k = 1; k < tier_count; ++k)
      if (counts.tiers[k].peak > 0) refuse_tiers(who, k, counts.tiers[k].peak, bytes);
  }
}

/// The adjoint of the final state: a given value, or the result of `seed(final_state)`.
template <class State, template <class> class Held, class Bar, class Seed, class Final>
void fill_bar(Held<Bar>& bar, Seed&& seed, Final& final_state) {
  if constexpr (!seed_function<std::remove_reference_t<Seed>, State>)
    emplace_by(bar, [&] { return taken(std::forward<Seed>(seed)); });
  else if constexpr (std::is_void_v<call_result<Seed, lent_state<State>>>) {
    call_lending(seed, final_state);
    bar.emplace(Bar{});
  } else
    emplace_by(bar, [&] { return taken_out_by([&]() -> decltype(auto) { return call_lending(seed, final_state); }); });
}

/// The use of the caller's store by one sweep, if the store can be marked.
template <class Store>
struct store_use {
  store_use(auto&, char const*) noexcept {}
};
template <class Store>
  requires requires(Store& store) { store_marks::of(store); }
struct store_use<Store&> : in_use {
  store_use(Store& store, char const* who) : in_use{store_marks::of(store), who} {}
};

/// Where a sweep goes on.
struct resumed_at {
  step_index steps = -1;  ///< length of the loop; -1: that of the sweep which stopped in this workspace
  step_index open = 0;    ///< steps [0, open) are left to be reversed; all of them before the turn
  bool turned = true;     ///< whether the final state was reached
};

/// One sweep in a workspace; while it exists no other sweep can begin there. The workspace holds what outlives the
/// sweep: states, cursor and progress. Where the plan cannot go on, after its resources are gone or in a resumed sweep, a
/// cursor over the rest replaces the plan's.
/// \tparam Options  whether a replay check is possible; which one is chosen at run time
template <class State, class Plan, class Store, class Options>
class sweep : public within_budget<sweep<State, Plan, Store, Options>, State, std::remove_reference_t<Store>> {
  using budgeted = within_budget<sweep, State, std::remove_reference_t<Store>>;
  friend budgeted;
  using work_type = workspace<State, Plan, Store, Options>;
  using states_type = typename work_type::states_type;
  using store_type = typename work_type::store_type;
  static constexpr bool checked = work_type::checked;

 public:
  /// \param asked  options that replace those of the workspace, if any   \throws reentrancy_error
  template <class Asked = no_options>
  sweep(work_type& work, char const* operation, Asked asked = {})
      : work_{work}, operation_{operation}, mark_{work.busy_, operation}, store_mark_{work.store(), operation} {
    if constexpr (is_options<Asked>) work.options_ = asked;
    if constexpr (requires { asked.ahead; }) ahead_ = asked.ahead;
    if constexpr (is_object_end<Asked>) ends_ = asked;
    else if constexpr (checked) ends_ = work.options_.object;
    states().meet_store();
  }
  sweep(sweep const&) = delete;
  ~sweep() {
    if (!goes_on_) states().finish_saves_quietly();
    if (notes_stop_) note_stop();
  }

  /// Called before `begin`: the workspace ends with this sweep.
  void is_last() noexcept { once_ = true; }
  /// Called before the first action of a plan.
  /// \throws invalid_plan   if the store does not have its tiers   \throws out_of_memory, and what copies of x0 throw
  template <class Step, class X0>
  void begin(Step& step, X0&& x0, Plan const& plan, sweep_form form, bool knows_length = true) {
    check_tiers<store_type>(operation_, plan, x0);
    begin_loop(step, {knows_length ? step_index(plan.steps()) : -1, plan.leaf(), false,
                      budgeted::limit().leaf_bytes()});
    adopt(plan);
    work_.initial_hash_ = 0;
    work_.walk_ = plan.walk();
    if constexpr (checked) ledger().begin(check_setup(plan, form.keeps_run, knows_length));
    sweep_setup setup = setup_for(plan, form);
    setup.shape = shape(x0, knows_length);
    annotate_failure(status(), phase::forward, 0, [&] {
      // Where tapes stand for states, nothing may show later which one an object had at first.
      if constexpr (saved_state<State>)
        if (tapes_of(plan) > 0) work_.initial_hash_ = hash_of_state<State>(x0);
      states().begin(std::forward<X0>(x0), setup);
    });
    notes_stop_ = !form.keeps_run;
    if constexpr (checked)
      if (ledger().on()) check_initial_state(states().inspect_live([](auto const& x) { return hash_of(x); }));
  }
  /// The same for a sweep that continues where another one stopped, with what the store still holds.
  /// \throws invalid_call   if x0 is not the initial state, or the sweep that stopped here had another plan
  template <class X0>
  void begin_again(X0& x0, Plan const& plan, resumed_at at, sweep_form form) {
    check_tiers<store_type>(operation_, plan, x0);
    if constexpr (is_open_plan<Plan>) {
      if (at.turned) check_same_plan(plan, at);
    } else check_same_plan(plan, at);
    if (at.turned && !form.keeps_run && ends_ == object_ends::at_final)
      throw invalid_call{"cairn::resume",
                         "a resumed sweep does not pass through the final state, and cannot leave the object there",
                         {},
                         "ask for cairn::object_ends::at_initial, or for nothing"};
    if (work_.unfinished_ && states().lost_its_store())
      throw invalid_call{operation_,
                         "another sweep has begun in the store of the sweep that stopped",
                         {},
                         "give a sweep that is to go on a store of its own"};
    std::uint64_t const given = hash_of_state<State>(x0), noted = work_.initial_hash_;
    if (noted != 0 && noted != given) refuse_initial_state();
    adopt(plan);
    work_.steps_ = at.steps;
    status().open = at.open;
    status().turned = at.turned;
    if constexpr (checked) {
      // This workspace hashed the states in frames; a store that outlives them may hold anything.
      if (at.turned) ledger().begin_again(check_setup(plan, form.keeps_run, true), at.open, keeps_frames<store_type>);
      else ledger().begin(check_setup(plan, form.keeps_run, !is_open_plan<Plan>));
      check_initial_state(given);
    }
    sweep_setup setup = setup_for(plan, form);
    // The initial state of an object is kept, even if the store keeps no frames, or the plan no state.
    bool const no_room = keeps_frames<store_type> ? plan.slots() == 0 && !initial_stands_apart(plan, form_here(form))
                                                  : !may_lose<store_type>;
    if (saved_state<State> && no_room) ++setup.working;
    setup.shape = shape(x0, at.steps >= 0);
    states().begin_again(x0, setup);
    states().note_held(work_.tier_of_);
    if constexpr (checked) {
      auto const note = [this](auto... left) { ledger().left(left...); };
      if constexpr (requires { states().store().each_hash(note); })
        if (ledger().on()) states().store().each_hash(note);
    }
    if constexpr (outliving_store<store_type>)
      if (noted == 0 && given != 0) check_stored_initial_state(given);
    notes_stop_ = true;
    if (is_open_plan<Plan> ? !at.turned : states_type::makes_again)
      if (goes_on_in(plan, at)) return;
    slot_index const shared = !at.turned ? slot_of_initial(plan, form) : no_slot;
    if (shared != no_slot && states().state_in(shared) > 0) states().drop({shared, work_.tier_of_(shared)});
    replan([&](slot_index slot) { return slot == shared ? unusable_slot : states().state_in(slot); },
           [this](slot_index slot) { return work_.tier_of_(slot); });
  }
  /// A kept run stands at its turn, with the final state that another process has left; the state before the turn is
  /// made when it is needed. Returns false if the final state cannot be read.
  template <class X0>
  [[nodiscard]] bool begin_turned(X0& x0, Plan const& plan, step_index steps, sweep_form form) {
    begin_again(x0, plan, {steps, steps, true}, form);
    notes_stop_ = false;
    if (!states().read_final(steps)) return false;
    if (work_.on_rest_) work_.walk_ = plan.walk();  // not used
    status().turned_at = live_wanted_ >= 0 ? live_wanted_ : steps > 0 ? steps - 1 : 0;
    work_.before_turn_is_missing_ = true;
    return true;
  }
  /// Makes the state before the turn, if that is still missing.
  template <class Step>
  void bring_back_turn(Step& step) {
    if (std::exchange(work_.before_turn_is_missing_, false) && !work_.on_rest_) live_wanted_ = status().turned_at;
    bring_live(step);
  }
  /// At the turn of a kept run: another process has reversed all steps but [0, open).
  template <class Step>
  void skip_to(step_index open, Step& step) {
    status().open = open;
    if constexpr (checked) ledger().reversed(open);
    table<stored_state> expected(entries_for(work_.slots_));
    for (slot_index slot = 0; slot < work_.slots_; ++slot) {
      auto const& held = states().held()[slot];
      expected[slot] = {slot, held.at < -1 ? missing(held.at) : held.at, held.where};
    }
    if (!work_.on_rest_)
      walk_to(find_place(
                  *work_.walk_, work_.steps_, open, true, work_.slots_,
                  [this](slot_index slot) { return states().now_in(slot); },
                  [&expected](slot_index slot) { return expected[slot].state; }),
              expected);
    for (stored_state const& one : expected) {
      auto const& held = states().held()[one.slot];
      if (held.at >= 0 && (held.at >= open || (!work_.on_rest_ && held.at != one.state)))
        watched().drop({one.slot, held.where});
      if (!work_.on_rest_) states().expect({one.slot, one.where}, one.state);
    }
    if (work_.on_rest_) replan_around_held();
    else bring_live(step);
  }
  /// Brings the state back that a resumed sweep needs first.
  template <class Step>
  void bring_live(Step& step) {
    if constexpr (states_type::makes_again || is_open_plan<Plan>) {
      if (live_wanted_ < 0) return;
      step_index failed = live_wanted_;
      auto&& running = watched(&step);
      status().ran += annotate_failure(status(), status().turned ? phase::recompute : phase::forward, failed,
                                       [&] { return make_live(running, states(), step, live_wanted_, failed); });
      live_wanted_ = -1;
    }
  }
  /// Called between the turn and the first reverse.
  template <class Bar, class Seed>
  void seed(maybe<Bar>& bar, Seed&& from) {
    annotate_failure(status(), phase::reverse, work_.steps_, [&] {
      auto const fill = [&] { fill_bar<State>(bar, std::forward<Seed>(from), states().final_state()); };
      if constexpr (checked && saved_state<State> && barless<Bar>)
        watched().seed(work_.steps_, fill);
      else fill();
      if constexpr (requires { states().reversed(work_.steps_, std::as_const(*bar)); })
        states().reversed(work_.steps_, std::as_const(*bar));
    });
  }
  /// The same within a budget.
  template <class Bar, class User, class Seed>
  void seed_within(User& user, Seed&& from) {
    budgeted::template make_room_for_adjoint<Bar>(user);
    seed(user.bar, std::forward<Seed>(from));
    budgeted::weigh_adjoint(user);
  }
  /// The same where the final state is not needed afterwards.   \tparam Form  of the adjoint
  template <adjoint_form Form, class Bar, class User, class Seed>
  void turn_back(User& user, Seed&& from) {
    seed_within<Bar>(user, std::forward<Seed>(from));
    if constexpr (Form == adjoint_form::with_next) states().final_becomes_next();
    states().forget_final();
  }
  /// The sweep ended normally: it will not be resumed.
  void ended() {
    if constexpr (saved_state<State>) states().end();
    notes_stop_ = false;
    work_.unfinished_ = false;
    work_.initial_hash_ = 0;
    states().finish_saves();
  }
  /// This part ended normally and another follows: saves may still be pending then.
  void goes_on() noexcept { goes_on_ = true; }

  /// Obeys actions until something other than a slot that cannot be written stops the sweep. Compiled for speed wherever
  /// it is called: g++ treats a function that calls a cold one, as `estimate` does, as cold itself, together with all
  /// that it calls.
  /// \tparam Replanned  the sweep may have been replanned
  template <bool Replanned = states_type::makes_again, class Step, class User, class Observer>
  [[gnu::noinline, gnu::hot]] stop_reason run_plan(Step& step, User& user, Observer& observer) {
    auto&& running = watched(&step);
    if constexpr (requires { observer.watches(user); }) observer.watches(user);
    if constexpr (!Replanned && !User::limited) return execute(*work_.walk_, running, step, user, observer, status());
    else for (;;) {
      stop_reason answer = stop_reason::done;
      try {
        answer = work_.on_rest_ ? execute(*work_.rest_, running, step, user, observer, status())
                                : execute(*work_.walk_, running, step, user, observer, status());
      } catch (states_too_large const& found) {
        if (!budgeted::goes_on_with_less(found, user)) throw;
        continue;
      }
      if constexpr (may_end_sweeps<store_type>) status().ran -= wide(states().skipped());
      if (answer != stop_reason::unwritten) return answer;
      if constexpr (may_lose<store_type>)
        if (!another_slot_works()) {
          user.drop_all_tapes();
          replan_around_held();
        }
    }
  }

  /// The turn of a kept run: notes the present states, to which `rewind` returns.
  void remember_turn(Plan const& plan) {
    states().finish_saves();
    work_.turned_on_rest_ = work_.on_rest_;
    if constexpr (checked) ledger().remember();
    states().remember(status().turned_at, [&](step_index i) { return is_checkpoint(plan, i); });
    work_.at_turn_ = *work_.walk_;
  }
  /// Returns to the turn; recomputes the states that were dropped.
  /// \param user  of the way there
  template <class Step, class User>
  void rewind(Step& step, User&& user) {
    step_index failed = 0;
    work_.before_turn_is_missing_ = false;
    status().open = work_.steps_;
    states().finish_saves();
    if constexpr (takes_shape<store_type>) states().note_shape(shape(states().final_state(), true));
    budgeted::make_room_for_turn(user);
    if constexpr (checked) ledger().rewind();
    auto&& through = watched();
    status().ran += annotate_failure(status(), phase::recompute, failed, [&] {
      if constexpr (saved_state<State>) return wide(states().rewind(through, step, work_.steps_, failed));
      else return wide(states().rewind(through, step, failed));
    });
    work_.on_rest_ = work_.turned_on_rest_;
    if (work_.on_rest_) replan_around_held();
    else work_.walk_ = *work_.at_turn_;
  }

  [[nodiscard]] states_type& states() noexcept { return work_.states_; }
  /// The states, as the actions of a sweep use them: with the replay check if there is one.
  /// \param step  if states are brought back
  template <class Step = void>
  [[nodiscard]] decltype(auto) watched(Step* step = nullptr) noexcept {
    if constexpr (checked) return replayed_states<State, states_type, Step>{states(), ledger(), status(), step};
    else return (work_.states_);
  }
  [[nodiscard]] auto& ledger() noexcept { return work_.ledger_; }
  [[nodiscard]] auto& cursor() noexcept { return *work_.walk_; }
  [[nodiscard]] cached_object& tapes() noexcept { return work_.tapes_; }
  [[nodiscard]] sweep_status& status() noexcept { return work_.status_; }
  [[nodiscard]] step_index steps() const noexcept { return work_.steps_; }
  /// The state with which a resumed sweep begins.
  [[nodiscard]] step_index begins_at() const noexcept { return live_wanted_; }
  /// The turn of a loop that went on on its way forward: a store whose states cannot be made again is planned around.
  void turned_again() {
    if constexpr (!states_type::makes_again)
      replan([this](slot_index slot) { return states().state_in(slot); },
             [this](slot_index slot) { return work_.tier_of_(slot); });
  }
  /// Sets the length of a loop that was unknown when it began.
  void ends_at(step_index steps) noexcept { work_.steps_ = status().open = steps; }

 private:
  void adopt(Plan const& plan) {
    ++work_.users_.value;
    work_.tier_of_.keep(plan);
    work_.steps_ = plan.steps();
    work_.leaf_ = plan.leaf();
    work_.slots_ = plan.slots();
    work_.on_rest_ = work_.before_turn_is_missing_ = false;
    work_.unfinished_ = true;
    status() = {};
    status().open = work_.steps_;
    states().limits().keep_within(budgeted::limit());
  }
  /// \throws invalid_call   unless the length is known, `at.open` is in the loop, and a sweep that stopped here had this
  ///   plan, as far as steps, slots and leaf tell
  void check_same_plan(Plan const& plan, resumed_at& at) const {
    bool const known = work_.unfinished_;
    if (at.steps < 0 && known) at.steps = work_.steps_;
    if (at.steps < 0)
      throw invalid_call{operation_,
                         "the number of steps is not known here",
                         {{"open", at.open}},
                         "note it, and give it as the third part of the position, resume_point{open, bar, steps}"};
    if (known && (work_.steps_ != at.steps || work_.slots_ != plan.slots() || work_.leaf_ != plan.leaf()))
      throw invalid_call{operation_,
                         "the sweep that stopped in this workspace had another plan",
                         {{"its steps", work_.steps_},
                          {"steps", at.steps},
                          {"its slots", work_.slots_},
                          {"slots", slot_index(plan.slots())}},
                         "resume it with the plan with which it began, or clear the workspace"};
    if (!at.turned) at.open = at.steps;
    if (at.open < 0 || at.open > at.steps)
      throw invalid_call{operation_,
                         "the position is outside the loop",
                         {{"open", at.open}, {"steps", at.steps}},
                         "open is the number of steps still to be reversed"};
  }
  /// What the store is told.
  template <class X0>
  [[nodiscard]] sweep_shape shape(X0 const& x0, bool knows_length) const {
    sweep_shape told{.slots = work_.slots_};
    if constexpr (takes_shape<store_type>) {
      told.steps = knows_length ? work_.steps_ : -1;
      if constexpr (copied_state<State> && sized_state<State>) told.state_bytes = bytes_of(x0);
      using tiers = decltype(work_.tier_of_);
      told.tier_in = [](void const* plan, slot_index slot) { return (*static_cast<tiers const*>(plan))(slot); };
      told.plan = &work_.tier_of_;
    }
    return told;
  }
  /// The form with what this sweep knows of its state.
  [[nodiscard]] sweep_form form_here(sweep_form form) const noexcept {
    form.snapshots = !copied_state<State>;
    form.ends = ends_;
    form.ahead = ahead_;
    return form;
  }
  /// The frames that a sweep needs; the initial state has a frame of its own if the slots may not hold it to the end.
  [[nodiscard]] sweep_setup setup_for(Plan const& plan, sweep_form form) const {
    form = form_here(form);
    bool const stays = form.keeps_run || form.ends == object_ends::at_initial;
    bool const apart =
        may_lose<store_type> || initial_stands_apart(plan, form) || (stays && !keeps_frames<store_type>);
    bool const pinned = apart && (form.keeps_run || form.snapshots);
    slot_index const least = working_frames(form, plan.leaf());
    if (form.keeps_run) form.adjoint = adjoint_form::with_next;
    slot_index const most = working_frames(form, plan.leaf());
    auto const n = step_index(plan.steps());
    bool once = copied_state<State> && once_ && ahead_ == 0 && plan.leaf() == 1 && slot_index(plan.slots()) >= n - 1;
    if constexpr (requires { plan.counts(); }) once = once && plan.counts().advances < wide(n);
    else once = false;
    bool const read_again = initial_is_free(plan) || (budgeted::shrinks && budgeted::limit().budget != unknown_bytes);  // the plan for fewer slots loads it
    return {plan.slots(), most + (pinned ? 1 : 0), most - least, form.keeps_run, read_again, ends_, ahead_,
            once ? n - 2 : -2};
  }
  [[nodiscard]] replay_ledger::setup check_setup(Plan const& plan, bool keeps_run, bool knows_length) const {
    replay_check const asked = work_.options_.verify;
    bool const only_others = std::is_same_v<Options, options_beside_others> && asked == replay_check::off;
    return {only_others ? replay_check::checkpoints : asked,
            knows_length ? work_.steps_ : replay_ledger::unknown,
            plan.leaf(),
            plan.slots(),
            tapes_of(plan),
            keeps_run,
            only_others,
            saved_state<State> || !keeps_frames<store_type>};
  }
  /// \throws nondeterminism_error   if a sweep continues from another state
  void check_initial_state(std::uint64_t hash) {
    if (ledger().on() && !ledger().saved(ledger().initial_place(), 0, hash)) refuse_loaded(0);
  }
  void check_stored_initial_state(std::uint64_t given) {
    for (slot_index slot = 0; slot < work_.slots_; ++slot)
      if (states().state_in(slot) == 0)
        if (std::uint64_t const stored = states().hash_of_stored({slot, work_.tier_of_(slot)});
            stored != 0 && stored != given)
          refuse_initial_state();
  }
  /// Goes on with the plan itself, at the place that fits best to what the store still holds; what is missing there is
  /// made again when the plan asks for it. Returns false if the plan has no such place.
  bool goes_on_in(Plan const& plan, resumed_at const& at) {
    place_in_plan const place = find_place(
        plan.walk(), at.steps, at.open, at.turned, plan.slots(), [this](slot_index slot) { return states().now_in(slot); },
        [](slot_index) { return step_index{-1}; });
    if (!place.found) return false;
    work_.walk_ = plan.walk();
    table<stored_state> expected(entries_for(plan.slots()));
    for (stored_state& one : expected) one = {no_slot, -1};
    walk_to(place, expected);
    if constexpr (states_type::makes_again) {
      for (stored_state const& one : expected)
        if (one.slot != no_slot) states().expect({one.slot, one.where}, one.state);
    } else {  // all or nothing
      bool whole = true;
      for (slot_index slot = 0; slot < slot_index(plan.slots()); ++slot)
        whole = whole && states().now_in(slot) == expected[slot].state;
      if (!whole) return begins_anew(plan);
    }
    return true;
  }
  /// The cursor goes on to a place, and `expected` becomes what the slots should hold there.
  void walk_to(place_in_plan const& place, table<stored_state>& expected) {
    for (std::uint64_t k = 0; k < place.actions; ++k) {
      action const a = (*work_.walk_).next();
      if (a.kind == action_kind::save) expected[a.slot] = {a.slot, a.from, a.where};
      else if (a.kind == action_kind::drop) expected[a.slot].state = -1;
    }
    live_wanted_ = place.live;
  }
  /// The slot whose frame the initial state of an object takes, which is kept beside the other slots of a new plan for the
  /// rest; no_slot if the sweep has a frame for it. If all slots hold other states, that of the first one is given up.
  [[nodiscard]] slot_index slot_of_initial(Plan const& plan, sweep_form form) {
    if (!saved_state<State> || !keeps_frames<store_type> || initial_stands_apart(plan, form_here(form))) return no_slot;
    slot_index least = no_slot;  // -1 in an empty slot is less than any state
    for (slot_index slot = slot_index(plan.slots()); slot-- > 0;) {
      step_index const here = states().state_in(slot);
      if (here == 0) return slot;
      if (least == no_slot || here < states().state_in(least)) least = slot;
    }
    return least;
  }
  /// The loop begins with its initial state, and with empty slots.
  bool begins_anew(Plan const& plan) {
    for (slot_index slot = 0; slot < slot_index(plan.slots()); ++slot)
      if (states().now_in(slot) >= 0) states().drop({slot, work_.tier_of_(slot)});
    work_.walk_ = plan.walk();
    live_wanted_ = 0;
    return true;
  }
  /// Replans the rest around the states that still exist: `state_in(slot)` is the state in a slot, negative for none;
  /// `tier_in(slot)` its tier. The costs of transfers are not known here: slots in other tiers than memory are written
  /// only if memory alone would take four times as many steps.
  template <class StateIn, class TierIn>
  void replan(StateIn state_in, TierIn tier_in) {
    stopped_sweep at{work_.steps_, status().open, status().turned, work_.slots_, work_.leaf_};
    remaining const all{at, state_in, tier_in};
    work_.rest_ = all.walk();
    if (!all.is_counted()) {
      at.saves_in_memory = true;
      remaining const nearby{at, state_in, tier_in};
      if (nearby.counts().advances <= 4 * all.counts().advances) work_.rest_ = nearby.walk();
    }
    work_.on_rest_ = true;
  }
  /// Whether a save to some other empty slot of the tier works, where one has just failed. Slots that fail, too, are not
  /// tried again. The state that was to be saved is live, and is not kept: it is made again when it is needed.
  [[nodiscard]] bool another_slot_works() {
    auto const failed = states().unwritten();
    if (!work_.tier_of_.known() && failed.where != tier::memory) return true;  // not known which slots are there
    for (slot_index slot = 0; slot < work_.slots_; ++slot) {
      auto const& held = states().held()[slot];
      if (held.at >= 0 || held.unwritable || work_.tier_of_(slot) != failed.where) continue;
      if (!states().save({slot, failed.where}, failed.at)) continue;
      states().drop({slot, failed.where});
      return true;
    }
    return false;
  }
  /// The same around the states that this sweep holds, with their tiers: a plan may use tiers without saying which slot
  /// is where.
  void replan_around_held() {
    replan([this](slot_index slot) {
             if (states().is_given_up(slot)) return unusable_slot;
             step_index const at = states().known_in(slot);
             return at < 0 ? step_index{-1} : at;
           },
           [this](slot_index slot) { return tier_now(slot); });
  }
  // for a budget:
  void plan_rest() { replan_around_held(), work_.turned_on_rest_ = true; }
  [[nodiscard]] slot_index slots() const noexcept { return work_.slots_; }
  /// Where a slot is: as the state that it holds says, else as the plan does.
  [[nodiscard]] tier tier_now(slot_index slot) {
    auto const& held = states().held();
    return held.size() == 0 || held[slot].at < 0 ? work_.tier_of_(slot) : held[slot].where;
  }
  /// Notes the hash of the initial state, for `resume` to check. Called only when a sweep stops, so that other sweeps
  /// cost nothing.
  [[gnu::noinline, gnu::cold]] void note_stop() noexcept {
    try {
      if (std::uint64_t const hash = states().hash_of_initial(); hash != 0) work_.initial_hash_ = hash;
    } catch (...) {  // the user's visit_buffers threw: the hash stays unknown
    }
  }

  work_type& work_;
  char const* operation_;
  in_use mark_;
  [[no_unique_address]] store_use<Store> store_mark_;
  object_ends ends_ = object_ends::anywhere;
  step_index live_wanted_ = -1;  // a resumed sweep begins with this state
  slot_index ahead_ = 0;  // frames for a helper
  bool once_ = false;     // the workspace ends with this sweep
  bool notes_stop_ = false, goes_on_ = false;
};

}  // namespace cairn::detail
