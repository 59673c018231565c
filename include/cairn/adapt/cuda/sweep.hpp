// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file sweep.hpp  The adjoint of a loop whose states are on a device: checkpoints are frames of the device, or pinned
/// slots of the host.
#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <utility>
#include <cairn/adapt/cuda/detail/device_forms.hpp>
#include <cairn/adapt/cuda/detail/device_needs.hpp>
#include <cairn/adapt/cuda/detail/device_replay.hpp>
#include <cairn/adapt/cuda/detail/host_loads.hpp>
#include <cairn/adapt/cuda/detail/placed_states.hpp>
#include <cairn/adapt/cuda/device_capacity.hpp>
#include <cairn/adapt/cuda/graph.hpp>
#include <cairn/adapt/cuda/runtime.hpp>
#include <cairn/core/action.hpp>
#include <cairn/core/buffers.hpp>
#include <cairn/core/bytes_of.hpp>
#include <cairn/core/detail/state_hash.hpp>
#include <cairn/core/detail/table.hpp>
#include <cairn/core/error.hpp>
#include <cairn/core/event.hpp>
#include <cairn/door/wrt.hpp>
#include <cairn/rules/replay_check.hpp>
#include <cairn/run/sweep/detail/execute.hpp>
#include <cairn/run/sweep/detail/one_of.hpp>
#include <cairn/run/sweep/sweep_report.hpp>
#include <cairn/run/sweep/workspace.hpp>
#include <cairn/store/store.hpp>

namespace cairn {

/// Reverses loops on a device: puts the steps `x1 = step(x, i)` and the adjoints into a stream; the host waits for
/// neither.
///
/// Slots of the tiers memory and device are frames with one more owner: nothing is copied. Slots of the tier host are
/// pinned memory: states are copied there and back on two streams of the sweep's own, while steps run. A copy of the
/// plan's cursor shows which state will be loaded next; it is fetched as soon as a frame is free for it. Frames and
/// slots are allocated once. A sweep itself does not allocate, pin or free memory, nor does the host wait, so a sweep
/// can be captured into a graph: see `capture`.
///
/// An in-place step on a frame that is kept, or that is being copied to the host, first copies it within the device.
/// Cannot be copied or moved. The destructor waits for the streams; runtime and stream must outlive the sweep. One
/// thread at a time.
template <device_runtime Runtime, class State>
class device_sweep {
 public:
  using stream = typename Runtime::stream;  ///< the stream of steps and adjoints

  /// \param compute  the stream for steps and adjoints   \param capacity  frames >= 1, host slots >= 0; see
  ///   `device_capacity_for`
  /// \param make  `make()` returns a full state of the size that all states have; called once per frame. What it puts
  ///   into streams must be in `compute`, or be done
  /// \throws invalid_plan   for an invalid capacity   \throws out_of_memory, device_error   \throws what `make` throws
  template <class Make>
  device_sweep(Runtime& runtime, stream compute, device_capacity capacity, Make make)
      : device_sweep{runtime, compute, checked(capacity), false, make} {}
  /// The same with a replay check: each state that is compared is copied to one of the host slots of `capacity`, and
  /// the host waits for the copy, so recomputed steps run no faster than these copies. The x1 of an out-of-place step
  /// holds a copy of x when the step first runs, and zeros when it runs again. `device_capacity_for(plan, form,
  /// options)` counts the slot.
  template <class Make>
  device_sweep(Runtime& runtime, stream compute, device_capacity capacity, Make make, sweep_options options)
      : device_sweep{runtime, compute, checked(capacity), false, make} {
    if constexpr (check_replays<true>()) options_ = options;
  }
  /// The same with less capacity if memory runs out; the memory of one frame is then left free. `capacity()` returns
  /// what was allocated.
  /// \throws out_of_memory   if no frame can be allocated
  template <class Make>
  device_sweep(Runtime& runtime, stream compute, capacity_up_to capacity, Make make)
      : device_sweep{runtime, compute, checked(capacity.most), true, make} {}
  device_sweep(device_sweep const&) = delete;
  device_sweep& operator=(device_sweep const&) = delete;
  /// Waits for all pending work before frames and slots are freed.
  ~device_sweep() = default;

  /// The capacity that was allocated.
  [[nodiscard]] device_capacity capacity() const noexcept { return states_.capacity(); }
  /// Bytes of one state in device memory.
  [[nodiscard]] std::size_t frame_bytes() const noexcept { return states_.frame_bytes(); }

  /// Puts the whole loop and its adjoint into the stream, without waiting for them: they are done when the stream is
  /// done. The gradient has the same bits for every plan and capacity.
  /// \param step  `step(x, x1, i, stream)`, which writes x1 from x, or in place `step(x, i, stream)`
  /// \param start  `start(x, stream)`, which writes the initial state, or a state that is copied, within the device,
  ///   before the first step
  /// \param plan  a schedule with leaf 1 and without tapes   \param seed  `seed(x, bar, stream)` writes the adjoint of
  ///   the final state x
  /// \param adjoint  `adjoint(x, bar, i, stream)`: bar belongs to state i+1 before the call and to state i after it
  ///   \param bar  of any type
  /// \param last  in any order, each kind at most once: an observer, called with an `event` around every action when
  ///   it is put into streams; it sees no bytes of states; `sweep_options` instead of those of the sweep; a
  ///   `sweep_report`, filled in before the call returns: its states are the frames and host slots that the plan needs,
  ///   and those that were made; bar and dp are counted where they lie, the other parts on the host; `wrt{p, dp}`: then
  ///   step and adjoint take p, and adjoint and seed dp, too, before i and the stream. p is a value of the host, hashed
  ///   while the sweep is put into streams, and may change when the call returns; dp lies in device memory, which is set
  ///   to zero in the stream; a `collective` of the adapter for MPI:
  ///   then all ranks run the sweep together
  /// \throws invalid_plan, invalid_schedule   before any step   \throws reentrancy_error   \throws nondeterminism_error
  ///   by a replay check   \throws invalid_call   if the parameters of a `wrt` change
  /// \throws device_error and whatever the functions throw, unchanged, after all streams are done; the sweep can be
  ///   used again. If the runtime is a `checking_runtime`, a failed launch in a function is a device_error, too, which
  ///   names function and step
  template <class Step, class Start, class Plan, class Seed, class Adjoint, class Bar, class... Last>
  void gradient(Step&& step, Start&& start, Plan const& plan, Seed&& seed, Adjoint&& adjoint, Bar& bar,
                Last&&... last) {
    if constexpr (detail::together<Last...>) {
      if constexpr (detail::check_together<true, false, Last...>()) {
        auto const run = [&](auto const&, auto&&... given) {
          gradient(step, start, plan, seed, adjoint, bar, std::forward<decltype(given)>(given)...);
          return true;
        };
        detail::by_ranks(who, plan, run, std::forward<Last>(last)...);
      }
    } else {
      detail::no_wrt none;
      auto& by = detail::one_of<detail::is_wrt<Last>...>(none, last...);
      using Wrt = std::remove_cvref_t<decltype(by)>;
      constexpr bool right = check_last<Last...>() && check_replays<(detail::is_options<Last> || ...)>() &&
                             detail::check_device_params<Runtime, Wrt>();
      if constexpr (right && detail::check_device_sweep<State, stream, std::remove_reference_t<Step>,
                                                        std::remove_reference_t<Start>, Plan,
                                                        std::remove_reference_t<Seed>,
                                                        std::remove_reference_t<Adjoint>, Bar, Wrt>()) {
        no_observer nobody;
        auto& observer = detail::one_of<(is_observer<Last>)...>(nobody, last...);
        sweep_options const options = detail::one_of<detail::is_options<Last>...>(options_, last...);
        detail::device_functions<State, stream, Bar, Wrt>::bound(
            by, step, seed, adjoint, [&](auto& runs, auto& ends, auto& pulls) {
              if constexpr (!(detail::is_report<Last> || ... || false))
                sweep_once(runs, start, plan, ends, pulls, bar, observer, options, by);
              else {
                sweep_report unasked;
                sweep_report& report = detail::one_of<detail::is_report<Last>...>(unasked, last...);
                report = {};
                detail::reporting<decltype(observer)> counts{observer, report};
                auto const needed = sweep_once(runs, start, plan, ends, pulls, bar, counts, options, by);
                counts.ends(plan.steps(), plan.slots(), counts.runs());
                detail::note_predicted(report, parts_of(plan, needed, options, start, bar, by));
                report.counted = parts_of(plan, capacity(), options, start, bar, by);
                report.state_bytes = report.counted.states;
              }
            });
      }
    }
  }

  /// Captures the whole of `gradient(step, start, plan, seed, adjoint, bar, last...)` into a graph. It runs only when
  /// the graph is launched, any number of times, each time at the cost of one call. The functions are called once,
  /// here, and their work on the host is not repeated; see `device_graph`, and `graph_pays` for when this pays. Provide
  /// new input in the state `start`, or in the memory from which the function `start` copies. Sweep and `bar` must
  /// outlive the graph, whose launches may alternate with sweeps that are not captured and with other graphs of the same
  /// sweep.   \param last  as for `gradient`, without `wrt` and replay checks
  /// \throws invalid_plan, invalid_schedule, reentrancy_error   as `gradient`   \throws invalid_call   for a sweep with
  ///   a replay check
  /// \throws device_error   for a function that cannot be captured, and if `compute` is the legacy default stream; the
  ///   sweep can be used again
  template <class Step, class Start, class Plan, class Seed, class Adjoint, class Bar, class... Last>
  [[nodiscard]] auto capture(Step&& step, Start&& start, Plan const& plan, Seed&& seed, Adjoint&& adjoint, Bar& bar,
                             Last&&... last) {
    constexpr bool captures = capturing_runtime<Runtime>;
    constexpr bool repeats = !(detail::is_wrt<Last> || ... || false);
    static_assert(captures,
                  "cairn: this runtime captures no graphs: it must be a cairn::capturing_runtime");
    static_assert(repeats,
                  "cairn: a captured graph would keep the values that p has now, whatever it is at a launch; let the "
                  "functions capture parameters in device memory, and set their gradient to zero in the seed");
    if (detail::one_of<detail::is_options<Last>...>(options_, last...).verify != replay_check::off)
      throw invalid_call{"cairn::device_sweep::capture",
                         "a replay check lets the host wait, which a captured stream does not allow",
                         {},
                         "check with gradient, and capture with a sweep that has no replay check"};
    if constexpr (captures && repeats)
      return device_graph<Runtime>{states_.runtime(), states_.compute(),
                             [&](stream) { gradient(step, start, plan, seed, adjoint, bar, last...); }};
  }

 private:
  static constexpr char const* who = "cairn::device_sweep";
  template <class T>
  static constexpr bool is_observer =
      !detail::is_wrt<T> && !detail::is_options<T> && !detail::is_report<T> && detail::observes<T>;

  /// The error messages for what follows bar.
  template <class... Last>
  [[nodiscard]] static consteval bool check_last() {
    constexpr bool known = ((detail::is_wrt<Last> || detail::is_options<Last> || detail::is_report<Last> ||
                             is_observer<Last>) && ... && true);
    constexpr bool once = detail::at_most_one<detail::is_wrt<Last>...> && detail::at_most_one<is_observer<Last>...> &&
                          detail::at_most_one<detail::is_options<Last>...> &&
                          detail::at_most_one<detail::is_report<Last>...>;
    static_assert(known,
                  "cairn: what follows the bar of a device sweep may be, in any order, an observer, "
                  "cairn::sweep_options, cairn::wrt{p, dp} and a cairn::sweep_report variable; one argument is none of "
                  "these");
    static_assert(once, "cairn: two arguments of the same kind follow; give each kind once");
    return known && once;
  }
  template <bool Asked>
  [[nodiscard]] static consteval bool check_replays() {
    constexpr bool told = !Asked || detail::every_part<detail::hash_sees_all<true>, State>();
    static_assert(told,
                  "cairn: the replay check cannot determine which bytes of this state on a device are padding; give it "
                  "a member visit_buffers(f) or specialise cairn::state_traits with visit_buffers(state, f)");
    return told;
  }
  template <class T>
  [[nodiscard]] static wide device_bytes_of([[maybe_unused]] T const& x) {
    if constexpr (detail::shows_bytes<T>) return detail::state_layout{x}.device_bytes();
    else return unknown_bytes;
  }
  /// What a sweep with this capacity holds.
  template <class Plan, class Start, class Bar, class Wrt>
  [[nodiscard]] sweep_parts parts_of(Plan const& plan, device_capacity made, sweep_options options, Start const& start,
                                     Bar const& bar, [[maybe_unused]] Wrt const& by) const {
    sweep_parts parts{.states = wide(made.frames + made.host_slots) * frame_bytes(),
                      .adjoints = device_bytes_of(bar),
                      .plan = 2 * table_bytes_of(plan) + shared_table_bytes_of(plan),  // one cursor runs ahead
                      .frames = states_.noted_bytes(made, plan.slots()) + wide(plan.slots()),
                      .checks = replay_check_bytes(options.verify, {.steps = plan.steps(), .slots = plan.slots()})};
    if constexpr (std::is_same_v<Start, State>) parts.initial = device_bytes_of(start);
    if constexpr (detail::is_wrt<Wrt>) {
      parts.params = unknown_bytes, parts.gradient = device_bytes_of(by.dp);
      if constexpr (sized_state<std::remove_cvref_t<decltype(by.p)>>) parts.params = bytes_of(by.p);
    }
    return parts;
  }
  /// One sweep, whose arguments have been checked. Returns what the plan needs.
  template <class Step, class Start, class Plan, class Seed, class Adjoint, class Bar, class Observer, class Wrt>
  device_capacity sweep_once(Step& step, Start& start, Plan const& plan, Seed& seed, Adjoint& adjoint, Bar& bar,
                        Observer& observer, sweep_options options, [[maybe_unused]] Wrt& by) {
    static constexpr step_form form = detail::device_step_form<Step, State, stream>();
    detail::in_use const mark{busy_, who};
    device_capacity const needed = check_capacity(plan, form, options);
    detail::check_earlier_launches(states_.runtime(), who);
    detail::kept_wrt<std::remove_const_t<Wrt>> const watch{by};
    begin(plan, options);
    try {
      if constexpr (detail::is_wrt<Wrt>) detail::zero_on_device(states_.runtime(), by.dp, states_.compute());
      start_from(start, initial_is_free(plan));
      cursor_of<Plan> cursor = plan.walk();
      detail::host_loads<cursor_of<Plan>> ahead{plan.walk(), {form, initial_is_free(plan)}, capacity().frames};
      auto ends = [&](State const& x, Bar& into, stream in) {
        watch.check(who);
        seed(x, into, in);
      };
      device_states<form, cursor_of<Plan>, Step, decltype(ends), Adjoint, Bar> sweep{*this, ahead, step, ends, adjoint,
                                                                                     bar};
      detail::sweep_status status;
      while (detail::execute(cursor, sweep, step, sweep, observer, status) != detail::stop_reason::done) {
      }
      watch.check(who);
      states_.join();
    } catch (...) {
      states_.settle();
      throw;
    }
    return needed;
  }

  template <class Make>
  device_sweep(Runtime& runtime, stream compute, device_capacity capacity, bool or_less, Make& make)
      : states_{runtime, compute, capacity, or_less, make} {}

  [[nodiscard]] static device_capacity checked(device_capacity capacity) {
    if (capacity.frames < 1 || capacity.host_slots < 0)
      throw invalid_plan{who,
                         "a sweep needs 1 frame or more, and 0 host slots or more",
                         {{"frames", capacity.frames}, {"host slots", capacity.host_slots}},
                         "ask cairn::device_capacity_for"};
    return capacity;
  }
  /// Returns what the plan needs.
  template <class Plan>
  device_capacity check_capacity(Plan const& plan, step_form form, sweep_options options) {
    if (plan.leaf() > 1)
      throw invalid_plan{who,
                         "the plan reverses several steps at once, but the adjoint takes one",
                         {{"leaf", plan.leaf()}},
                         "use a plan with leaf 1"};
    auto const needed = detail::device_needs_of<device_capacity>(who, plan, form, options, filled_);
    device_capacity const made = capacity();
    if (needed.frames > made.frames)
      throw invalid_plan{who,
                         "the plan needs more frames than were made",
                         {{"frames", made.frames}, {"needed", needed.frames}},
                         "make more, or use a plan with fewer slots on the device"};
    if (needed.host_slots > made.host_slots)
      throw invalid_plan{who,
                         "the plan needs more host slots than were pinned",
                         {{"host slots", made.host_slots}, {"needed", needed.host_slots}},
                         "pin more, or use a plan with fewer slots on the host"};
    return needed;
  }
  template <class Plan>
  void begin(Plan const& plan, sweep_options options) {
    states_.begin(plan.slots());
    turned_ = false;
    replay_.begin(options.verify, plan.steps(), plan.slots());
  }
  template <class Start>
  void start_from(Start& start, bool stands_apart) {
    State& x = states_.write_live();
    if constexpr (std::is_same_v<std::remove_cv_t<Start>, State>) {
      states_.copy(start, x);
    } else {
      start(x, states_.compute());
      states_.put();
    }
    check_launches("a launch of the start failed", {"state", 0});
    states_.set_at(states_.live(), 0);
    if (stands_apart) states_.keep_initial();
    replay_.started();
  }
  /// The states and the reverse part of this sweep, as `execute` needs them. The host does not wait; so before each
  /// action it checks whether the next state from the host can be fetched.
  template <step_form Form, class Cursor, class Step, class Seed, class Adjoint, class Bar>
  class device_states : public detail::no_hooks {
   public:
    device_states(device_sweep& sweep, detail::host_loads<Cursor>& ahead, Step& step, Seed& seed, Adjoint& adjoint,
                  Bar& bar)
        : sweep_{sweep}, ahead_{ahead}, step_{step}, seed_{seed}, adjoint_{adjoint}, bar_{bar} {}

    void advance(Step& step, step_index from, step_index to, step_index&) {
      begin().template run<Form>(step, sweep_.states_.live(), from, to);
    }
    void save(place where, step_index i) {
      begin().replay_.saving(where.slot, i);
      sweep_.states_.save(where, i);
    }
    [[nodiscard]] bool load(place where, step_index i) {
      load_from(where.slot, i);
      return true;
    }
    void load_initial() { load_from(no_slot, 0); }
    void drop(place where) { begin().states_.drop(where.slot); }
    [[nodiscard]] std::size_t bytes() const noexcept { return sweep_.states_.bytes(); }
    /// Visits nothing: the bytes are on the device.
    [[nodiscard]] bool visit(action const&, moment, event::sink, void*) const noexcept { return false; }

    std::uint64_t turn(device_states&, action const& a, step_index&) {
      begin().template turn<Form>(step_, a, [&](State const& last) { seed_(last, bar_, sweep_.states_.compute()); });
      sweep_.turned_ = true;
      return std::uint64_t(a.to - a.from);
    }
    void reverse(device_states&, action const& a) {
      auto& states = begin().states_;
      adjoint_(std::as_const(states.state(states.live())), bar_, a.from, states.compute());
      states.put();
      sweep_.check_launches("a launch of the adjoint failed", {"step", a.from});
      sweep_.replay_.reversed(a.from);
    }

   private:
    device_sweep& begin() {
      sweep_.states_.fetch_ahead(ahead_, ++now_);
      return sweep_;
    }
    void load_from(slot_index slot, step_index i) {
      begin().states_.load(ahead_, slot, i, now_);
      sweep_.replay_.loaded(slot, i);
    }

    device_sweep& sweep_;
    detail::host_loads<Cursor>& ahead_;
    Step& step_;
    Seed& seed_;
    Adjoint& adjoint_;
    Bar& bar_;
    std::int64_t now_ = -1;  // the number of the present action
  };

  /// Advances `handle` to state `to`, and compares the states in between that the replay check asks for.
  template <step_form Form, class Step>
  void run(Step& step, frame_id& handle, step_index from, step_index to) {
    replay_.along(handle, from, to, [&](step_index at, step_index reach) { advance<Form>(step, handle, at, reach); });
  }
  /// Advances `handle` to state `to`. If its frame has another owner, that frame does not change. The only caller of
  /// the step.
  template <step_form Form, class Step>
  void advance(Step& step, frame_id& handle, step_index from, step_index to) {
    auto const compute = states_.compute();
    for (step_index i = from; i < to; ++i) {
      if constexpr (Form == step_form::in_place) {
        states_.own(handle);
        states_.set_at(handle, -1);
        step(states_.state(handle), std::as_const(i), compute);
        put_by_step(i);
      } else {
        frame_id const next = states_.frame_to_write();
        replay_.fill(next, handle, i);
        step(std::as_const(states_.state(handle)), states_.state(next), std::as_const(i), compute);
        put_by_step(i);
        states_.release(handle);
        handle = next;
      }
      states_.set_at(handle, i + 1);
    }
  }
  void put_by_step(step_index i) {
    states_.put();
    check_launches(
        turned_ ? "a launch of the step failed where it runs again" : "a launch of the step failed on the way forward",
        {"step", i});
  }
  void check_launches(char const* problem, named_value which) {
    detail::check_launches(states_.runtime(), who, problem, which);
  }
  template <step_form Form, class Step, class Seed>
  void turn(Step& step, action const& a, Seed seed) {
    frame_id last = states_.share(states_.live());
    run<Form>(step, last, a.from, a.to);
    seed(std::as_const(states_.state(last)));
    states_.put();
    check_launches("a launch of the seed failed", {"state", a.to});
    states_.release(last);
  }

  detail::busy_mark busy_;  // first: a move that is refused has moved nothing
  detail::placed_states<Runtime, State> states_;
  detail::device_replay<Runtime, State> replay_{states_};
  detail::table<unsigned char> filled_;
  sweep_options options_;
  bool turned_ = false;
};

}  // namespace cairn
