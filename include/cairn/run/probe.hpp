#pragma once
/// \file probe.hpp  What a loop weighs, measured on a few real steps.
#include <cstddef>
#include <optional>
#include <type_traits>
#include <utility>
#include <cairn/core/bytes_of.hpp>
#include <cairn/core/checks.hpp>
#include <cairn/core/error.hpp>
#include <cairn/core/workload.hpp>
#include <cairn/run/frames.hpp>
#include <cairn/run/gradient.hpp>
#include <cairn/schedule/uniform.hpp>

namespace cairn {
namespace detail {

/// Seconds between two times of a clock, whose differences count in a ratio of seconds.
template <class Time>
[[nodiscard]] constexpr double seconds_between(Time const& begin, Time const& end) {
  auto const passed = end - begin;
  using period = typename decltype(passed)::period;
  double const seconds = double(passed.count()) * double(period::num) / double(period::den);
  return seconds > 0 ? seconds : 0;
}

/// The last measurements of one kind, and their median.
class timings {
 public:
  void add(double seconds) noexcept {
    seconds_[count_ % most] = seconds;
    ++count_;
  }
  [[nodiscard]] double median() const noexcept {
    std::size_t const size = count_ < most ? count_ : most;
    if (size == 0) return 0;
    double sorted[most];
    for (std::size_t k = 0; k < size; ++k) {
      std::size_t j = k;
      for (; j > 0 && sorted[j - 1] > seconds_[k]; --j) sorted[j] = sorted[j - 1];
      sorted[j] = seconds_[k];
    }
    return size % 2 != 0 ? sorted[size / 2] : (sorted[size / 2 - 1] + sorted[size / 2]) / 2;
  }

 private:
  static constexpr std::size_t most = 64;
  double seconds_[most] = {};
  std::size_t count_ = 0;
};

/// Measures as long as it stands.
template <class Clock>
class stopwatch {
 public:
  explicit stopwatch(timings& into) : into_{into}, begin_{Clock::now()} {}
  stopwatch(stopwatch const&) = delete;
  ~stopwatch() { into_.add(seconds_between(begin_, Clock::now())); }

 private:
  timings& into_;
  decltype(Clock::now()) begin_;
};

/// What a clock takes to be read.
template <class Clock>
[[nodiscard]] double clock_seconds() {
  timings times;
  for (int k = 0; k < 32; ++k) stopwatch<Clock> const nothing{times};
  return times.median();
}
/// Seconds of one copy of a state, and how much longer one takes into new memory.
struct copy_times {
  double again = 0, first = 0;
};
/// Averages over so many copies that they do not stay in a small cache.
template <class Clock, class State>
[[nodiscard]] copy_times time_copies(State const& x, wide bytes) {
  constexpr wide enough = 8 << 20;
  wide const fit = bytes == 0 ? 4096 : enough / bytes;
  auto const count = frame_id(fit < 4 ? 4 : fit > 4096 ? 4096 : fit);
  frames<State> pool;
  pool.begin(count);
  auto const pass = [&] {
    timings all;
    {
      stopwatch<Clock> const copying{all};
      for (frame_id k = 0; k < count; ++k) pool.copy_in(x, k);
    }
    return all.median() / double(count);
  };
  double const first = pass(), again = pass();
  return {again, first > again ? first - again : 0};
}

/// Remembers the largest size.
template <class T>
void note_bytes(wide& largest, T const& x) {
  if constexpr (sized_state<T>)
    if (wide const bytes = bytes_of(x); bytes > largest) largest = bytes;
}

/// The step as it is, timed.
template <class Clock, class State, class Step>
[[nodiscard]] auto timed_step(Step& step, timings& times) {
  static constexpr auto shape = shape_of_step<Step, State>();
  if constexpr (shape.form == step_form::by_value)
    return by_value([&](State const& x, [[maybe_unused]] step_index i) -> State {
      stopwatch<Clock> const running{times};
      if constexpr (shape.indexed) return call_lending(step, x, std::as_const(i));
      else return call_lending(step, x);
    });
  else if constexpr (shape.form == step_form::out_of_place)
    return out_of_place([&](State const& x, State& x1, [[maybe_unused]] step_index i) {
      stopwatch<Clock> const running{times};
      if constexpr (shape.indexed) call_lending(step, x, x1, std::as_const(i));
      else call_lending(step, x, x1);
    });
  else
    return in_place([&](State& x, [[maybe_unused]] step_index i) {
      stopwatch<Clock> const running{times};
      if constexpr (shape.indexed) step(x, std::as_const(i));
      else step(x);
    });
}

/// The adjoint as it is, timed. States and adjoints are measured as they pass by.
template <class Clock, class State, class Bar, class Adjoint>
[[nodiscard]] auto timed_adjoint(Adjoint& adjoint, timings& times, timings& records, workload& work) {
  static constexpr auto shape = shape_of_adjoint<Adjoint, State, Bar>();
  auto const note = [&work](State const& x, Bar const& bar) {
    note_bytes(work.state_bytes, x);
    note_bytes(work.adjoint_bytes, bar);
  };
  if constexpr (shape.form == adjoint_form::leaf)
    return leaf([&adjoint, &times, note](State const& x, Bar& bar, step_index first, step_index last) {
      note(x, bar);
      stopwatch<Clock> const running{times};
      pull_back(adjoint, bar, x, bar, std::as_const(first), std::as_const(last));
    });
  else if constexpr (shape.form == adjoint_form::with_next)
    return with_next([&adjoint, &times, note](State const& x, State const& x1, Bar& bar, step_index i) {
      note(x, bar);
      stopwatch<Clock> const running{times};
      pull_back(adjoint, bar, x, x1, bar, std::as_const(i));
    });
  else if constexpr (shape.form == adjoint_form::recorded) {
    using tape = typename tape_of<Adjoint, State, true>::type;
    return recorded{[&adjoint, &records, &work](State& x, step_index i) -> tape {
                      note_bytes(work.state_bytes, x);
                      stopwatch<Clock> const running{records};
                      return record_step(adjoint.record, x, i);
                    },
                    [&adjoint, &times, &work](tape& kept, Bar& bar, [[maybe_unused]] step_index i) {
                      note_bytes(work.adjoint_bytes, bar);
                      note_bytes(work.tape_bytes, kept);
                      stopwatch<Clock> const running{times};
                      if constexpr (shape.reverse_indexed) pull_back(adjoint.reverse, bar, kept, bar, std::as_const(i));
                      else pull_back(adjoint.reverse, bar, kept, bar);
                    }};
  } else
    return [&adjoint, &times, note](State const& x, Bar& bar, [[maybe_unused]] step_index i) {
      note(x, bar);
      stopwatch<Clock> const running{times};
      if constexpr (shape.indexed) pull_back(adjoint, bar, x, bar, std::as_const(i));
      else pull_back(adjoint, bar, x, bar);
    };
}

template <class Clock, class State, class Step, class Seed, class Adjoint>
[[nodiscard]] workload probed(Step& step, State const& x0, step_index steps, Seed& seed, Adjoint& adjoint, step_index tried) {
  using Bar = bar_type<Seed, State>;
  static constexpr auto shape = shape_of_adjoint<Adjoint, State, Bar>();
  workload work;
  work.steps = steps;
  if constexpr (sized_state<State>) work.initial_bytes = bytes_of(x0);
  note_bytes(work.state_bytes, x0);
  work.state_inline_bytes = work.state_bytes < sizeof(State) ? work.state_bytes : wide{sizeof(State)};
  work.form = {shape_of_step<Step, State>().form, shape.form, shape.by_value};
  timings calls, records, reversals;
  auto const timed = timed_step<Clock, State>(step, calls);
  auto const back = timed_adjoint<Clock, State, Bar>(adjoint, reversals, records, work);
  note_bytes(work.adjoint_bytes, gradient(timed, x0, uniform{tried < steps ? tried : steps}, seed, back));
  double const reading = clock_seconds<Clock>();
  auto const net = [&](timings const& of) { return of.median() > reading ? of.median() - reading : 0; };
  work.step_seconds = net(calls);
  work.adjoint_seconds = net(reversals);
  if constexpr (shape.form == adjoint_form::recorded) work.record_seconds = net(records);
  bool const is_short = calls.median() < 4 * reading || reversals.median() < 4 * reading;
  if (is_short && steps > 0) {  // the clock takes longer than what it should measure: one sweep as a whole, every call taken for as long as the next
    step_index const more = tried < steps / 64 ? 64 * tried : steps;
    uniform const plan{more};
    timings sweep;
    {
      stopwatch<Clock> const running{sweep};
      (void)gradient(step, x0, plan, seed, adjoint);
    }
    double const each = sweep.median() / (double(step_calls(plan.counts(), shape.form)) + double(more));
    work.step_seconds = work.adjoint_seconds = each;
    if constexpr (shape.form == adjoint_form::recorded) work.record_seconds = each;
  }
  if (steps > 0) {
    copy_times const copies = time_copies<Clock>(x0, work.state_bytes);
    work.frame_seconds = copies.first;
    if (work.form.step == step_form::in_place) work.tiers.memory.write_seconds = copies.again;
  }
  if constexpr (shape.form == adjoint_form::recorded) {
    using tape = typename tape_of<Adjoint, State, true>::type;
    if (work.tape_bytes > 0) work.tape_bytes += sizeof(std::optional<tape>) - sizeof(tape);
    work.tape_inline_bytes = work.tape_bytes > 0 ? wide{sizeof(std::optional<tape>)} : 0;
    work.tapes_restart = restarts<Adjoint, State, tape>;
  }
  return work;
}

}  // namespace detail

/// What the loop `x = step(x, i)` of `steps` steps weighs on this machine: sizes of states, adjoint and recorded tapes as `bytes_of` counts
/// them, the largest that were seen, median times of single calls, and how step and adjoint are written. A state that is kept costs a copy
/// where the step is in place: that is `tiers.memory.write_seconds`. New memory costs `frame_seconds` a state: set that to 0 for sweeps that
/// use a workspace again.
///
/// Runs the first `tried` steps and their adjoints, as `gradient` does, on a copy of `x0`, and where a call is too short for the clock 64 times
/// as many; what step and adjoint change beside their states is changed. What an adjoint call holds for its own use cannot be seen: set `tape_bytes` for that, for leaves `tape_step_bytes`, and `tiers`
/// where states may be kept elsewhere.
/// \tparam Clock  has now() as the clocks of the standard library do: `probe<std::chrono::steady_clock>(step, x0, n, seed, adjoint)`
/// \param steps  loop length, >= 0   \param seed, adjoint  as of `gradient`   \param tried  steps that are run, >= 1
/// Cost: about twice `tried` calls of the step; memory for 2 sqrt(tried) states, and for 4 copies or 8 MiB of them.   \throws invalid_plan; what step, adjoint and seed throw
template <class Clock, class Step, class X0, class Seed, class Adjoint>
[[nodiscard]] workload probe(Step&& step, X0 const& x0, step_index steps, Seed&& seed, Adjoint&& adjoint, step_index tried = 16) {
  using StepF = std::remove_reference_t<Step>;
  using AdjointF = std::remove_reference_t<Adjoint>;
  static_assert(copied_state<X0>, "cairn: probe runs a copy of the initial state, and this state cannot be copied");
  if constexpr (!copied_state<X0> || !detail::check_forward<StepF, X0, step_index>()) return {};
  else if constexpr (!detail::check_adjoint<AdjointF, X0, detail::bar_type<Seed, X0>>()) return {};
  else {
    if (steps < 0) throw invalid_plan{"cairn::probe", "a loop has no negative number of steps", {{"steps", steps}}, "give 0 or more"};
    if (tried < 1) throw invalid_plan{"cairn::probe", "at least one step has to be tried", {{"tried", tried}}, "give 1 or more"};
    return detail::probed<Clock>(step, x0, steps, seed, adjoint, tried);
  }
}

}  // namespace cairn
