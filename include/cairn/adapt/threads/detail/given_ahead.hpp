// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file given_ahead.hpp  How `parallel` among the last arguments of a verb reaches its sweep: as a part of the observer,
/// which every sweep is given, and of the options, from which frames and bytes are counted.
#include <cstdint>
#include <system_error>
#include <type_traits>
#include <utility>
#include <cairn/adapt/threads/detail/ahead.hpp>
#include <cairn/core/bytes_of.hpp>
#include <cairn/core/event.hpp>
#include <cairn/core/state_traits.hpp>
#include <cairn/rules/detail/two_threads.hpp>
#include <cairn/rules/replay_check.hpp>
#include <cairn/run/form/detail/last_arguments.hpp>
#include <cairn/run/sweep/detail/plan_place.hpp>
#include <cairn/run/sweep/sweep_report.hpp>

namespace cairn::detail {

/// The options of a sweep with a helper.
template <class Options>
struct ahead_options : Options {
  slot_index chosen = 0;           ///< frames for states that are handed over and not yet reversed; 0: not by the caller
  double adjoint = 1;              ///< time of an adjoint over that of a step
  mutable char const* serial = nullptr;  ///< why there is no helper
  mutable slot_index ahead = 0;    ///< the frames, once they are counted

  /// For a plan of the caller's. A frame should leave the other core's cache before it is written again.
  template <class State>
  slot_index ahead_for([[maybe_unused]] State const& x0) const {
    if (serial != nullptr) return ahead = 0;
    if (chosen > 0) return ahead = chosen;
    ahead = 32;
    if constexpr (sized_state<State>) ahead = frames_ahead(wide(bytes_of(x0)));
    return ahead;
  }
  /// The plan of a budget, which states kept and states handed over share.
  /// \param state  bytes of one   \param with  with(frames) is the plan that leaves room for so many states ahead
  template <class With>
  [[nodiscard]] constexpr auto shared(std::size_t state, With const& with) const {
    auto const beside = [&](slot_index frames) { return with(ahead = frames); };
    if (serial != nullptr) return beside(0);
    if (chosen > 0) return beside(chosen);
    auto alone = beside(0);
    slot_index const slots = slots_in_memory(alone);
    if (slots < 4 || state == 0) return alone;
    double const sure = 0.93 * (double(alone.counts().advances) + double(alone.steps()) * adjoint);  // to pay
    slot_index const best =
        best_ahead(slots / 2, state, sure, [&](slot_index frames) { return on_two(beside(frames)); });
    if (best == 0) serial = "within this budget one thread is as fast";
    return beside(best);
  }

 private:
  /// The least time of a sweep on two threads, in steps.
  template <class Plan>
  [[nodiscard]] constexpr double on_two(Plan const& plan) const {
    double const n = double(plan.steps());
    return least_on_two(n, double(plan.counts().advances) - n, adjoint * n, ahead);
  }
};
template <> inline constexpr bool is_options<ahead_options<sweep_options>> = true;
template <> inline constexpr bool is_options<ahead_options<sweep_options> const> = true;
template <> inline constexpr bool is_options<ahead_options<sweep_options>&> = true;
template <> inline constexpr bool is_options<ahead_options<sweep_options> const&> = true;

template <class Inner>
struct tells_report {};
template <class Inner>
  requires requires { Inner::reports; }
struct tells_report<Inner> { static constexpr bool reports = true; };

/// The observer of a sweep with a helper, around the caller's.   \tparam Given  a reference if the caller keeps it
template <class How, class Given>
class watched_ahead : public tells_report<std::remove_reference_t<Given>> {
 public:
  using inner_type = std::remove_reference_t<Given>;
  using walks_ahead = typename How::walks_ahead;
  /// \param serial  why there is no helper, or null
  watched_ahead(How const& how, char const* serial, sweep_report* report, Given&& observer)
      : observer_{std::forward<Given>(observer)}, how_{how}, report_{report}, serial_{serial} {}

  void operator()(event const& e) {
    if constexpr (observed<inner_type>) observer_(e);
  }
  [[nodiscard]] static std::int64_t clock_now()
    requires requires { { inner_type::clock_now() } -> std::convertible_to<std::int64_t>; }
  {
    return inner_type::clock_now();
  }
  template <class... All>
  void ends(All const&... all)
    requires requires { inner_type::reports; }
  {
    observer_.ends(all...);
  }

  /// Obeys a plan, on its way back on two threads where that is possible; see `execute`.
  template <class Cursor, class States, class Step, class User>
  stop_reason obey(Cursor& cursor, States& states, Step& step, User& user, sweep_status& status) {
    if (!status.turned) return on_the_way(cursor, states, step, user, status);
    if constexpr (reversed_by<User>::known && copied_state<state_of<States>>) {
      using by = reversed_by<User>;
      if constexpr (by::form != adjoint_form::leaf || runs_beside<typename by::adjoint>()) {  // see `check_leaves`
        if (char const* const why = stays_serial<by>(states, user, status)) note(why);
        else return on_two_threads<by>(cursor, states, step, user, status);
      }
    }
    return execute(cursor, states, step, user, observer_, status);
  }

 private:
  template <class States>
  using state_of = std::remove_cvref_t<decltype(*std::declval<States&>().seen(false))>;

  void note(char const* why) noexcept {
    if (report_ != nullptr) report_->serial = why;
  }
  void recall(sweep_status const& status, char const* why) noexcept {
    recalled_at_ = status.open;
    note(recalled_ = why);
  }
  /// The way there, which tells how long a step takes.
  template <class Cursor, class States, class Step, class User>
  stop_reason on_the_way(Cursor& cursor, States& states, Step& step, User& user, sweep_status& status) {
    if (report_ != nullptr) report_->serial = nullptr;
    wide const ran = status.ran;
    std::int64_t const begin = now_ns();
    auto const reason = execute(cursor, states, step, user, observer_, status);
    if (wide const steps = status.ran - ran; steps > 0) step_ns_ = double(now_ns() - begin) / double(steps);
    return reason;
  }
  /// Why the way back stays on one thread; null if it does not.
  template <class By, class States, class User>
  [[nodiscard]] char const* stays_serial(States& states, User& user, sweep_status const& status) {
    using values = std::remove_reference_t<decltype(values_of(states))>;
    using store = std::remove_reference_t<decltype(values_of(states).store())>;
    constexpr bool recorded = By::form == adjoint_form::recorded;
    if (status.open > recalled_at_) recalled_at_ = -1;  // another sweep
    if constexpr (!told_in_parts<values> && (requires(store& all) { all.reversed(step_index{}, 0.0); } ||
                                             is_told_before<store> || may_end_sweeps<store>))
      return "the store is told of each reversal";
    else {
      if (serial_ != nullptr) return serial_;
      if (recalled_at_ >= 0) return recalled_;
      if (user.keeps_tapes()) return "the plan keeps tapes";
      if (recorded && (observed<inner_type> || values_of(states).limits().limited() ||
                       ahead_access::checks(states) == replay_check::every_step))
        return "a recording adjoint changes states that an observer, a budget or a replay check looks at";
      if (step_ns_ > 0 && !walks_ahead::pays(step_ns_, status.open)) return "the steps are too short";
      return nullptr;
    }
  }
  template <class States>
  static auto& values_of(States& states) { return ahead_access::values(states); }

  template <class By, class Cursor, class States, class Step, class User>
  stop_reason on_two_threads(Cursor& cursor, States& states, Step& step, User& user, sweep_status& status) {
    using memory_type = helper_memory<typename walks_ahead::thread>;
    if constexpr (By::form == adjoint_form::with_next)
      if (!states.has_next()) {  // as in a sweep that is resumed: the state behind the first step is made here
        reverses_once<User> first{user};
        if (auto const reason = execute(cursor, states, step, first, observer_, status); reason != stop_reason::paused)
          return reason;
      }
    memory_type* memory = nullptr;
    try {
      memory = &ahead_access::memory(values_of(states).limits()).template get<memory_type>();
    } catch (std::system_error const&) {
      note("the system gives no thread");
      return execute(cursor, states, step, user, observer_, status);
    }
    // Frames that the plan leaves free may be handed over, too; the helper waits for one when none is left.
    slot_index const most = values_of(states).frame_count() + 1;
    auto const reason = [&] {
      walk_ahead<walks_ahead, By, state_of<States>, Cursor, States, Step, User, inner_type> walk{
          cursor, states, step, user, observer_, status, *memory, most, step_ns_};
      try {
        return walk.go();
      } catch (states_too_large const&) {
        recall(status, "what has grown leaves no room for states ahead within the budget");
        throw;
      }
    }();
    if (reason == stop_reason::done) {
      action const end{.kind = action_kind::done};
      for (auto const when : {moment::before, moment::after})
        show(states, cursor, end, phase_of(action_kind::done, true), when, observer_);
    }
    if (reason != stop_reason::paused) return reason;
    recall(status, "the helper was recalled: it had no core, or the sweep was no faster with it");
    return execute(cursor, states, step, user, observer_, status);
  }
  /// A user that pauses after one reversal.
  template <class User>
  struct reverses_once {
    static constexpr bool can_restart = User::can_restart;
    User& user;
    bool paused = false;
    template <class States>
    auto turn(States& states, action const& a, step_index& failed) { return user.turn(states, a, failed); }
    template <class States>
    auto record(States& states, action const& a) { return user.record(states, a); }
    template <class States>
    void restart(States& states, action const& a) { user.restart(states, a); }
    template <class States>
    void drop_tape(States& states, slot_index slot) noexcept { user.drop_tape(states, slot); }
    template <class States>
    std::uint64_t reverse(States& states, action const& a) {
      auto const ran = user.reverse(states, a);
      paused = true;
      return ran;
    }
    [[nodiscard]] bool pauses() const noexcept { return paused; }
  };

  [[no_unique_address]] Given observer_;
  How how_;
  sweep_report* report_;
  char const* serial_;
  double step_ns_ = 0;           // 0: not known
  step_index recalled_at_ = -1;  // steps that were open then
  char const* recalled_ = nullptr;
};
template <class How, class Given>
inline constexpr bool observed<watched_ahead<How, Given>> = observed<std::remove_reference_t<Given>>;

/// Chosen before the `execute` of other sweeps where the observer has a helper.
template <class Cursor, class States, class Step, class User, class How, class Given>
stop_reason execute(Cursor& cursor, States& states, Step& step, User& user, watched_ahead<How, Given>& observer,
                    sweep_status& status) {
  return observer.obey(cursor, states, step, user, status);
}

/// What follows the fixed arguments of a verb, `parallel` among it.
template <class How, class Given>
struct given_ahead : Given {
  using base = Given;
  using kept_observer = watched_ahead<How, typename Given::kept_observer>;
  ahead_options<decltype(Given::options)> options;
  How how;

  given_ahead(Given&& given, How const& asked, char const* serial)
      : Given{std::move(given)}, options{{Given::options}, asked.ahead, asked.adjoint_over_step, serial}, how{asked} {}
  given_ahead(Given&& given, ahead_options<decltype(Given::options)> const& counted, How const& asked)
      : Given{std::move(given)}, options{counted}, how{asked} {}
  /// See `last_given::in`.
  template <class Other>
  [[nodiscard]] auto in(Other& other) const {
    auto inner = Given::in(other);
    return given_ahead<How, decltype(inner)>{std::move(inner), options, how};
  }
  [[nodiscard]] auto watching() const {
    using inner = decltype(Given::watching());
    return watched_ahead<How, inner>{how, options.serial, told(), Given::watching()};
  }
  [[nodiscard]] kept_observer kept_watching() const { return {how, options.serial, told(), Given::kept_watching()}; }

 private:
  [[nodiscard]] sweep_report* told() const noexcept {
    if constexpr (Given::reports) return Given::report;
    else return nullptr;
  }
};

/// The same for a sweep on its way: `given` with a helper, where there can be one.
template <class State, class How, class Given>
[[nodiscard]] auto with_helper(How const& how, Given given) {
  if constexpr (!copied_state<State>) {
    if constexpr (Given::reports) given.report->serial = "the state is an object, of which there is one";
    return given;
  } else {
    return given_ahead<How, Given>{std::move(given), how,
                                   how.threads < 2 ? "parallel asks for one thread"
                                   : How::walks_ahead::cores() < 2 ? "this process may use one core only" : nullptr};
  }
}

}  // namespace cairn::detail
