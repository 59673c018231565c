// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file sweep.hpp  The adjoint of a loop whose states are on a device: checkpoints are frames of the device, or pinned
/// slots of the host.
#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <utility>
#include <cairn/adapt/cuda/detail/device_forms.hpp>
#include <cairn/adapt/cuda/detail/frames.hpp>
#include <cairn/adapt/cuda/detail/host_loads.hpp>
#include <cairn/adapt/cuda/detail/host_slots.hpp>
#include <cairn/adapt/cuda/detail/launches.hpp>
#include <cairn/adapt/cuda/detail/sweep_streams.hpp>
#include <cairn/adapt/cuda/device_capacity.hpp>
#include <cairn/adapt/cuda/graph.hpp>
#include <cairn/adapt/cuda/runtime.hpp>
#include <cairn/core/action.hpp>
#include <cairn/core/buffers.hpp>
#include <cairn/core/detail/refused_replay.hpp>
#include <cairn/core/detail/replay_ledger.hpp>
#include <cairn/core/detail/state_hash.hpp>
#include <cairn/core/detail/table.hpp>
#include <cairn/core/error.hpp>
#include <cairn/core/event.hpp>
#include <cairn/core/replay_check.hpp>
#include <cairn/run/detail/execute.hpp>
#include <cairn/run/workspace.hpp>
#include <cairn/store/store.hpp>

namespace cairn {

/// Reverses loops on a device: puts the steps `x1 = step(x, i)` and the adjoints into a stream; the host waits for
/// neither.
///
/// Slots of the tiers memory and device are frames with one more owner: nothing is copied. Slots of the tier host are
/// pinned memory: states are copied there and back on two streams of the sweep's own, while steps run. A copy of the
/// plan's cursor tells which state will be loaded next; it is fetched as soon as a frame is free for it. Frames and
/// slots are allocated once. A sweep itself does not allocate, pin or free memory, nor does the host wait, so a sweep
/// can be captured into a graph: see `capture`.
///
/// An in-place step on a frame that is kept, or that is being copied to the host, first copies it within the device.
/// Cannot be copied or moved. The destructor waits for the streams; runtime and stream must outlive the sweep. One
/// thread at a time.
template <device_runtime R, class State>
class device_sweep {
 public:
  using stream = typename R::stream;  ///< the stream of steps and adjoints

  /// \param compute  the stream for steps and adjoints   \param capacity  frames >= 1, host slots >= 0; see
  ///   `device_capacity_for`
  /// \param make  `make()` returns a full state of the size that all states have; called once per frame. What it puts
  ///   into streams must be in `compute`, or be done
  /// \throws invalid_plan   for an invalid capacity   \throws out_of_memory, device_error   \throws what `make` throws
  template <class Make>
  device_sweep(R& runtime, stream compute, device_capacity capacity, Make make)
      : device_sweep{runtime, compute, checked(capacity), false, make} {}
  /// The same with a replay check: each state that is compared is copied to a host slot, one of the capacity's, and the
  /// host waits for it, so recomputed steps run no faster than that. An out-of-place step finds a copy of x in its x1
  /// when it runs first, and zeros when it runs again. `device_capacity_for(plan, form, options)` counts the slot.
  template <class Make>
  device_sweep(R& runtime, stream compute, device_capacity capacity, Make make, sweep_options options)
      : device_sweep{runtime, compute, checked(capacity), false, make} {
    constexpr bool told = detail::visits_values_only<State>();
    static_assert(told,
                  "cairn: the replay check cannot tell the bytes of this state on a device from padding; give it a "
                  "member visit_buffers(f) or specialise cairn::state_traits with visit_buffers(state, f)");
    options_ = options;
  }
  /// The same with less capacity if memory runs out; the memory of one frame is then left free. `capacity()` returns
  /// what was allocated.
  /// \throws out_of_memory   if no frame can be allocated
  template <class Make>
  device_sweep(R& runtime, stream compute, capacity_up_to capacity, Make make)
      : device_sweep{runtime, compute, checked(capacity.most), true, make} {}
  device_sweep(device_sweep const&) = delete;
  device_sweep& operator=(device_sweep const&) = delete;
  /// Waits for all pending work before frames and slots are freed.
  ~device_sweep() { streams_.settle(); }

  /// The capacity that was allocated.
  [[nodiscard]] device_capacity capacity() const noexcept { return {frames_.count(), slots_.count()}; }
  /// Bytes of one state in device memory.
  [[nodiscard]] std::size_t frame_bytes() const noexcept { return copier_.layout().device_bytes(); }

  /// Puts the whole loop and its adjoint into the stream, without waiting for them: they are done when the stream is
  /// done. The gradient has the same bits for every plan and capacity.
  /// \param step  `step(x, x1, i, stream)`, which writes x1 from x, or in place `step(x, i, stream)`
  /// \param start  `start(x, stream)`, which writes the initial state, or a state that is copied, within the device,
  ///   before the first step
  /// \param plan  a schedule with leaf 1 and without tapes   \param seed  `seed(x, bar, stream)` writes the adjoint of
  ///   the final state x
  /// \param adjoint  `adjoint(x, bar, i, stream)`: bar belongs to state i+1 before the call and to state i after it
  ///   \param bar  of any type
  /// \param observer  called with an `event` around every action when it is put into streams; it sees no bytes of
  ///   states
  /// \throws invalid_plan, invalid_schedule   before any step   \throws reentrancy_error   \throws nondeterminism_error
  ///   by a replay check
  /// \throws device_error and whatever the functions throw, unchanged, after all streams are done; the sweep can be
  ///   used again. If the runtime is a `checking_runtime`, a failed launch in a function is a device_error, too, which
  ///   names function and step
  template <class Step, class Start, class P, class Seed, class Adjoint, class Bar, class Observer = no_observer>
  void gradient(Step&& step, Start&& start, P const& plan, Seed&& seed, Adjoint&& adjoint, Bar& bar,
                Observer&& observer = {}) {
    using StepF = std::remove_reference_t<Step>;
    using SeedF = std::remove_reference_t<Seed>;
    using AdjointF = std::remove_reference_t<Adjoint>;
    if constexpr (detail::check_device_sweep<State, stream, StepF, std::remove_reference_t<Start>, P, SeedF, AdjointF,
                                             Bar>()) {
      static constexpr step_form form = detail::device_step_form<StepF, State, stream>();
      detail::in_use const mark{busy_, who};
      check_capacity(plan, form);
      detail::check_earlier_launches(streams_.runtime(), who);
      begin(plan);
      try {
        start_from(start, initial_is_free(plan));
        cursor_of<P> cursor = plan.walk();
        detail::host_loads<cursor_of<P>> ahead{plan.walk(), {form, initial_is_free(plan)}, frames_.count()};
        device_states<form, cursor_of<P>, StepF, SeedF, AdjointF, Bar> sweep{*this, ahead, step, seed, adjoint, bar};
        detail::sweep_status status;
        while (detail::execute(cursor, sweep, step, sweep, observer, status) != detail::stop_reason::done) {
        }
        streams_.after_all(detail::stream_role::compute, detail::stream_role::to_host);
        streams_.after_all(detail::stream_role::compute, detail::stream_role::to_device);
      } catch (...) {
        streams_.settle();
        throw;
      }
    }
  }

  /// Captures the whole of `gradient(step, start, plan, seed, adjoint, bar)` into a graph. It runs only when the graph
  /// is launched, any number of times, each time at the cost of one call. The functions are called once, here, and
  /// their work on the host is not repeated; see `device_graph`, and `graph_pays` for when this pays. Provide new input
  /// in the state `start`, or in the memory from which the function `start` copies. Sweep and `bar` must outlive the
  /// graph, whose launches may alternate with sweeps that are not captured and with other graphs of the same sweep.
  /// \throws invalid_plan, invalid_schedule, reentrancy_error   as `gradient`   \throws invalid_call   for a sweep with
  ///   a replay check
  /// \throws device_error   for a function that cannot be captured, and if `compute` is the legacy default stream; the
  ///   sweep can be used again
  template <class Step, class Start, class P, class Seed, class Adjoint, class Bar>
  [[nodiscard]] auto capture(Step&& step, Start&& start, P const& plan, Seed&& seed, Adjoint&& adjoint, Bar& bar) {
    static_assert(capturing_runtime<R>,
                  "cairn: this runtime captures no graphs: it must be a cairn::capturing_runtime");
    if (options_.verify != replay_check::off)
      throw invalid_call{"cairn::device_sweep::capture",
                         "a replay check lets the host wait, which a captured stream does not allow",
                         {},
                         "check with gradient, and capture with a sweep that has no replay check"};
    if constexpr (capturing_runtime<R>)
      return device_graph<R>{streams_.runtime(), streams_.of(detail::stream_role::compute),
                             [&](stream) { gradient(step, start, plan, seed, adjoint, bar); }};
  }

 private:
  static constexpr char const* who = "cairn::device_sweep";

  template <class Make>
  device_sweep(R& runtime, stream compute, device_capacity capacity, bool or_less, Make& make)
      : streams_{runtime, compute}, frames_{streams_, capacity.frames, or_less, make}, copier_{state_layout_of_all()},
        slots_{runtime, capacity.host_slots, or_less, copier_.layout()} {}

  /// The content of a slot of the plan: a frame, or a slot of the host.
  struct place_record {
    std::int64_t number = -1;
    step_index at = -1;
    bool on_host = false;
  };

  [[nodiscard]] static device_capacity checked(device_capacity capacity) {
    if (capacity.frames < 1 || capacity.host_slots < 0)
      throw invalid_plan{who,
                         "a sweep has 1 frame or more, and no negative number of host slots",
                         {{"frames", capacity.frames}, {"host slots", capacity.host_slots}},
                         "ask cairn::device_capacity_for"};
    return capacity;
  }
  [[nodiscard]] detail::state_layout state_layout_of_all() const {
    detail::state_layout layout{frames_.state(0)};
    for (frame_id k = 1; k < frames_.count(); ++k)
      layout.each(frames_.state(k), [](void const*, detail::state_layout::run const&) {});
    return layout;
  }
  template <class P>
  void check_capacity(P const& plan, step_form form) {
    if (plan.leaf() > 1)
      throw invalid_plan{who,
                         "the plan reverses several steps at once, but the adjoint takes one",
                         {{"leaf", plan.leaf()}},
                         "use a plan with leaf 1"};
    device_capacity needed = detail::least_device_capacity(who, plan, form, filled_);
    if (options_.verify != replay_check::off) ++needed.host_slots;
    if (needed.frames > frames_.count())
      throw invalid_plan{who,
                         "the plan needs more frames than were made",
                         {{"frames", frames_.count()}, {"needed", needed.frames}},
                         "make more, or use a plan with fewer slots on the device"};
    if (needed.host_slots > slots_.count())
      throw invalid_plan{who,
                         "the plan needs more host slots than were pinned",
                         {{"host slots", slots_.count()}, {"needed", needed.host_slots}},
                         "pin more, or use a plan with fewer slots on the host"};
  }
  template <class P>
  void begin(P const& plan) {
    places_.assign(std::size_t(plan.slots()), {});
    streams_.put(detail::stream_role::compute);  // work that the caller has put there since the last sweep
    frames_.free_all();
    slots_.free_all();
    live_ = initial_ = next_ = current_ = no_frame;
    turned_ = false;
    ledger_.begin({options_.verify, plan.steps(), 1, plan.slots(), 0, false});
    if (ledger_.on()) scratch_slot_ = slots_.take();
    scratch_is_blank_ = false;
    hashed_ = -1;
  }
  template <class Start>
  void start_from(Start& start, bool stands_apart) {
    live_ = frame_to_write();
    if constexpr (std::is_same_v<std::remove_cv_t<Start>, State>)
      copier_.copy(streams_.runtime(), start, frames_.state(live_), streams_.of(detail::stream_role::compute));
    else start(frames_.state(live_), streams_.of(detail::stream_role::compute));
    streams_.put(detail::stream_role::compute);
    check_launches("a launch of the start failed", {"state", 0});
    frames_.set_at(live_, 0);
    if (stands_apart) frames_.keep(initial_ = live_);
    if (ledger_.on() && !ledger_.saved(ledger_.initial_place(), 0, hash_of(live_, 0))) detail::refuse_loaded(0);
  }
  /// The states of this sweep and its way back, as `execute` needs them. The host does not wait; so before each action
  /// it checks whether the next state from the host can be fetched.
  template <step_form Form, class Cursor, class Step, class Seed, class Adjoint, class Bar>
  class device_states : public detail::no_hooks {
   public:
    device_states(device_sweep& sweep, detail::host_loads<Cursor>& ahead, Step& step, Seed& seed, Adjoint& adjoint,
                  Bar& bar)
        : sweep_{sweep}, ahead_{ahead}, step_{step}, seed_{seed}, adjoint_{adjoint}, bar_{bar} {}

    void advance(Step& step, step_index from, step_index to, step_index&) {
      begin().template run<Form>(step, sweep_.live_, from, to);
    }
    void save(place where, step_index i) { begin().save(where, i); }
    [[nodiscard]] bool load(place where, step_index i) {
      begin().load(ahead_, where, i, now_);
      return true;
    }
    void load_initial() { begin().load(ahead_, {}, 0, now_); }
    void drop(place where) { begin().drop(where.slot); }
    [[nodiscard]] std::size_t bytes() const noexcept { return sweep_.bytes_made(); }
    /// Visits nothing: the bytes are on the device.
    [[nodiscard]] bool visit(action const&, moment, event::sink, void*) const noexcept { return false; }

    std::uint64_t turn(device_states&, action const& a, step_index&) {
      begin().template turn<Form>(step_, a, [&](State const& last) { seed_(last, bar_, compute()); });
      sweep_.turned_ = true;
      return std::uint64_t(a.to - a.from);
    }
    std::uint64_t reverse(device_states&, action const& a) {
      begin();
      adjoint_(std::as_const(sweep_.frames_.state(sweep_.live_)), bar_, a.from, compute());
      sweep_.streams_.put(detail::stream_role::compute);
      sweep_.check_launches("a launch of the adjoint failed", {"step", a.from});
      if (sweep_.ledger_.on()) sweep_.ledger_.reversed(a.from);
      return 0;
    }

   private:
    [[nodiscard]] stream compute() { return sweep_.streams_.of(detail::stream_role::compute); }
    device_sweep& begin() {
      sweep_.fetch_ahead(ahead_, ++now_);
      return sweep_;
    }

    device_sweep& sweep_;
    detail::host_loads<Cursor>& ahead_;
    Step& step_;
    Seed& seed_;
    Adjoint& adjoint_;
    Bar& bar_;
    std::int64_t now_ = -1;  // the number of the present action
  };

  [[nodiscard]] std::size_t bytes_made() const noexcept { return std::size_t(frames_.count()) * frame_bytes(); }

  void release(frame_id& frame) noexcept {
    if (frame != no_frame) frames_.release(std::exchange(frame, no_frame), streams_);
  }
  /// Releases a frame that is kept only for a later load; returns false if there is none.
  bool give_way() noexcept {
    frame_id& least_needed = current_ != no_frame ? current_ : next_;
    if (least_needed == no_frame) return false;
    release(least_needed);
    return true;
  }
  [[noreturn]] void refuse_schedule() const {
    throw invalid_schedule{who,
                           "the schedule needs more states at once than it said",
                           {{"frames", frames_.count()}},
                           "check the plan with cairn::verify"};
  }
  /// The frame that `take()` returns, after releasing frames until there is one.
  template <class Take>
  [[nodiscard]] frame_id one_by(Take take) {
    for (;;) {
      if (frame_id const k = take(); k != no_frame) return k;
      if (!give_way()) refuse_schedule();
    }
  }
  [[nodiscard]] frame_id frame_to_write() {
    return one_by([&] { return frames_.take(streams_); });
  }

  // Replay check.
  /// Advances `handle` to state `to` like `advance`, and hashes the states on the way that are to be compared.
  template <step_form Form, class Step>
  void run(Step& step, frame_id& handle, step_index from, step_index to) {
    if (!ledger_.on()) return advance<Form>(step, handle, from, to);
    auto const compare = [&](step_index i) {
      if (!ledger_.note(i, hash_of(handle, i))) ledger_.fail(i);
    };
    ledger_.along(from, to, [&](step_index at, step_index reach) { advance<Form>(step, handle, at, reach); }, compare);
  }
  void compare_loaded(slot_index place, step_index i) {
    if (!ledger_.on()) return;
    hashed_ = -1;
    if (!ledger_.loaded(place, i, hash_of(live_, i))) detail::refuse_loaded(i);
  }
  /// The hash of state i in a frame. Computed once: no action between two calls for the same state changes it.
  [[nodiscard]] std::uint64_t hash_of(frame_id frame, step_index i) {
    if (hashed_ != i) {
      detail::state_hash hash;
      scratch_is_blank_ = false;
      slots_.visit_bytes(scratch_slot_, std::as_const(frames_).state(frame), streams_, hash);
      hash_ = hash.value();
      hashed_ = i;
    }
    return hash_;
  }

  /// Fills the x1 of an out-of-place step: with a copy of x, or, if the step runs again, with zeros, so that its result
  /// differs if it does not write all of x1. Zeros, because it is unknown which bytes on a device are floating-point
  /// numbers, and no other pattern is also harmless as a whole number.
  void fill(frame_id x1, frame_id x, bool again) {
    if (again) return slots_.fill(scratch_slot_, frames_.state(x1), streams_, scratch_is_blank_);
    copier_.copy(streams_.runtime(), std::as_const(frames_.state(x)), frames_.state(x1),
                 streams_.of(detail::stream_role::compute));
    streams_.put(detail::stream_role::compute);
  }

  /// Advances `handle` to state `to`. If its frame has another owner, that frame does not change. The only caller of
  /// the step.
  template <step_form Form, class Step>
  void advance(Step& step, frame_id& handle, step_index from, step_index to) {
    auto const compute = streams_.of(detail::stream_role::compute);
    for (step_index i = from; i < to; ++i) {
      if constexpr (Form == step_form::in_place) {
        own(handle);
        frames_.set_at(handle, -1);
        step(frames_.state(handle), std::as_const(i), compute);
        put_by_step(i);
      } else {
        frame_id const next = frame_to_write();
        if (ledger_.on()) fill(next, handle, !ledger_.is_first(i));
        step(std::as_const(frames_.state(handle)), frames_.state(next), std::as_const(i), compute);
        put_by_step(i);
        release(handle);
        handle = next;
      }
      frames_.set_at(handle, i + 1);
    }
  }
  void put_by_step(step_index i) {
    streams_.put(detail::stream_role::compute);
    check_launches(
        turned_ ? "a launch of the step failed where it runs again" : "a launch of the step failed on the way forward",
        {"step", i});
  }
  void check_launches(char const* problem, named_value which) {
    detail::check_launches(streams_.runtime(), who, problem, which);
  }
  /// Makes `handle` a frame that may be changed: with one owner, and not being read by a copy to the host.
  void own(frame_id& handle) {
    frame_id target = no_frame;
    while (target == no_frame && frames_.shared(handle)) {
      target = frames_.take(streams_);
      if (target == no_frame && !give_way()) refuse_schedule();
    }
    // Waiting for the oldest copy takes less time than waiting for this one, which was put last.
    if (target == no_frame && frames_.is_held(handle, detail::stream_role::to_host, streams_))
      target = frames_.take(streams_);
    if (target == no_frame) return frames_.after_copy(handle, streams_);
    copier_.copy(streams_.runtime(), std::as_const(frames_.state(handle)), frames_.state(target),
                 streams_.of(detail::stream_role::compute));
    streams_.put(detail::stream_role::compute);
    release(handle);
    handle = target;
  }

  void save(place where, step_index i) {
    auto& there = places_[std::size_t(where.slot)];
    there = {live_, i, where.where == tier::host};
    if (ledger_.on() && !ledger_.saved(where.slot, i, hash_of(live_, i))) ledger_.fail(i);
    if (!there.on_host) return frames_.keep(live_);
    there.number = slots_.take();
    frames_.order_read(live_, streams_);
    frames_.set_copy(live_, slots_.save(there.number, std::as_const(frames_.state(live_)), streams_));
  }
  void drop(slot_index slot) {
    auto& place = places_[std::size_t(slot)];
    if (place.on_host) slots_.give_back(place.number);
    else frames_.release(place.number, streams_);
    place = {};
  }
  template <class Ahead>
  void load(Ahead& ahead, place where, step_index i, std::int64_t now) {
    slot_index const slot = where.slot;
    if (slot != no_slot && places_[std::size_t(slot)].on_host) load_from_host(ahead, slot, i, now);
    else load_frame(slot == no_slot ? initial_ : places_[std::size_t(slot)].number);
    compare_loaded(slot == no_slot ? ledger_.initial_place() : slot, i);
  }
  void load_frame(frame_id kept) {
    frames_.keep(kept);
    release(live_);
    live_ = kept;
  }
  template <class Ahead>
  void load_from_host(Ahead& ahead, slot_index slot, step_index i, std::int64_t now) {
    bool const is_next = ahead.is_next(slot, i);
    frame_id& waiting = is_next ? next_ : current_;
    if (waiting != no_frame) {
      release(live_);
      live_ = std::exchange(waiting, no_frame);
    } else if (frames_.at(live_) != i) {
      release(live_);
      live_ = one_by([&] { return frames_.take_for_copy(); });
      fetch(live_, slot, i);
    }
    frames_.after_copy_to_device(live_, streams_);
    if (is_next) {
      ahead.pass();
      release(current_);
    }
    if (ahead.comes_again(now)) frames_.keep(current_ = live_);
  }
  /// Copies the state in a host slot to a frame.
  void fetch(frame_id into, slot_index slot, step_index state) {
    slot_index const from = places_[std::size_t(slot)].number;
    frames_.order_copy(into, slots_.stored(from), streams_);
    frames_.set_copy(into, slots_.load(from, frames_.state(into), streams_));
    frames_.set_at(into, state);
  }
  /// Fetches the next state from the host as soon as no action before its load needs the frame.
  template <class Ahead>
  void fetch_ahead(Ahead const& ahead, std::int64_t now) {
    if (next_ != no_frame || !ahead.has_free_frame(now, current_ != no_frame)) return;
    auto const& place = places_[std::size_t(ahead.next_slot())];
    if (!place.on_host || place.at != ahead.next_state()) return;  // not saved yet
    if (frames_.at(live_) == ahead.next_state()) {
      frames_.keep(next_ = live_);
    } else if (next_ = frames_.take_for_copy(); next_ != no_frame) {
      fetch(next_, ahead.next_slot(), ahead.next_state());
    }
  }

  template <step_form Form, class Step, class Seed>
  void turn(Step& step, action const& a, Seed seed) {
    frame_id last = live_;
    frames_.keep(last);
    run<Form>(step, last, a.from, a.to);
    seed(std::as_const(frames_.state(last)));
    streams_.put(detail::stream_role::compute);
    check_launches("a launch of the seed failed", {"state", a.to});
    release(last);
  }

  detail::sweep_streams<R> streams_;
  detail::device_frames<R, State> frames_;
  detail::state_copier<R, State> copier_;
  detail::host_slots<R, State> slots_;
  detail::table<place_record> places_;
  detail::table<unsigned char> filled_;
  frame_id live_ = no_frame, initial_ = no_frame;
  frame_id next_ = no_frame,
           current_ =
               no_frame;  // kept for the next load from the host, and for the current state, which is loaded again
  sweep_options options_;
  detail::replay_ledger ledger_;
  slot_index scratch_slot_ = no_slot;  // the host slot through which a replay check reads and fills states
  bool scratch_is_blank_ = false;    // it contains zeros
  std::uint64_t hash_ = 0;          // of state hashed_
  step_index hashed_ = -1;
  bool busy_ = false, turned_ = false;
};

}  // namespace cairn
