// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file loop_probe.hpp  Runs a few real steps of a loop, and weighs and times them.
#include <concepts>
#include <exception>
#include <optional>
#include <type_traits>
#include <utility>
#include <cairn/core/bytes_of.hpp>
#include <cairn/core/detail/compiler.hpp>
#include <cairn/door/detail/checks.hpp>
#include <cairn/door/detail/leaf_bytes.hpp>
#include <cairn/rules/workload.hpp>
#include <cairn/run/form/detail/loop_step.hpp>
#include <cairn/run/gradient.hpp>
#include <cairn/run/probe/detail/object_probe.hpp>
#include <cairn/run/probe/detail/short_calls.hpp>
#include <cairn/run/probe/detail/timings.hpp>
#include <cairn/run/sweep/detail/frames.hpp>
#include <cairn/schedule/uniform.hpp>

namespace cairn::detail {

/// Seconds of one copy of a state, and how much longer a copy into new memory takes.
struct copy_times {
  double again = 0, first = 0;
};
/// Averages over enough copies to exceed a small cache.
template <class Clock, class State>
[[nodiscard]] copy_times time_copies(State const& x, wide bytes) {
  constexpr wide enough = 8 << 20;
  wide const fit = bytes == 0 ? 4096 : enough / bytes;
  auto const count = frame_id(lesser<wide>(greater<wide>(fit, 4), 4096));
  frames<State> pool;
  pool.begin(count);
  while (pool.known() < count) (void)pool.take();
  auto const pass = [&] {
    timings all;
    {
      stopwatch<Clock> const copying{all};
      for (frame_id k = 0; k < count; ++k) pool.copy_in(x, k);
    }
    return all.median() / double(count);
  };
  double const first = pass(), again = pass();
  return {again, first - lesser(first, again)};
}

/// Stands for a missing function that returns how many bytes the program holds.
struct nothing_told {};

/// Measures the bytes of values: by `bytes_of`, or, for a type that it does not accept, by how much a copy adds to the
/// bytes that the program holds. `Held` returns these bytes.
template <class Held>
class scales {
 public:
  static constexpr bool can_measure = !std::is_same_v<std::remove_cvref_t<Held>, nothing_told>;

  explicit scales(std::remove_reference_t<Held>& held) : held_{held} {}
  template <class T>
  [[nodiscard]] wide weigh(T const& x) {
    if constexpr (sized_state<T>) return bytes_of(x);
    else {
      wide const before = held();
      if constexpr (traited_copy<T>) {
        T copy{};
        copy_state(x, copy);
        return wide{sizeof(T)} + above(before);
      } else {
        T const copy(x);
        return wide{sizeof(T)} + above(before);
      }
    }
  }
  /// The bytes that the program holds now. \pre they are measured
  [[nodiscard]] wide held() { return held_(); }
  /// The increase since `before`.
  [[nodiscard]] wide above(wide before) {
    wide const now = held();
    return now - lesser(now, before);
  }

 private:
  std::remove_reference_t<Held>& held_;
};
/// A type whose bytes can be measured.
template <class T, class Held>
concept weighed = sized_state<T> || (scales<Held>::can_measure && std::copy_constructible<T>);

/// The sizes and times of a loop, collected while it runs.
template <class Clock, class Held>
struct loop_measures {
  workload& work;
  scales<Held> scale;
  clock_precision<Clock> clock = {};
  timings steps = {}, records = {}, reversals = {};

  template <class T>
  void note(wide& largest, T const& x) {
    if (wide const bytes = scale.weigh(x); bytes > largest) largest = bytes;
  }
  /// The same for values whose bytes need not be measured.
  template <class T>
  void note_told([[maybe_unused]] wide& largest, [[maybe_unused]] T const& x) {
    if constexpr (sized_state<T>) note(largest, x);
  }
  /// \param taken  bytes that the tape and the change of the state took during the recording
  void note_tape(wide taken, wide state_before, wide state_after) {
    wide const same = lesser(state_before, state_after), grown = state_after - same, shrunk = state_before - same;
    wide const bytes = taken > grown ? taken + shrunk - grown : 0;
    if (bytes > work.tape_bytes) work.tape_bytes = bytes;
  }
  template <class Call>
  decltype(auto) timed(timings& into, Call call) {
    struct timer {
      loop_measures& all;
      timings& into;
      decltype(Clock::now()) begin = Clock::now();
      ~timer() {
        double const seconds = seconds_between(begin, Clock::now());
        all.clock.saw(seconds);
        into.add(seconds);
      }
    } const running{*this, into};
    return call();
  }
};

/// The given step with a clock around it. Measures the states that it leaves.
template <class State, class Step, class Measures>
[[nodiscard]] auto timed_step(Step& step, Measures& all) {
  static constexpr auto shape = shape_of_step<Step, State>();
  [[maybe_unused]] auto const run = [&](step_index const i, auto&... x) {
    all.timed(all.steps, [&] { call_step<State, shape.indexed>(step, no_parameters, i, x...); });
  };
  if constexpr (shape.form == step_form::by_value)
    return by_value([&](State const& x, step_index i) -> State {
      State x1 =
          all.timed(all.steps, [&]() -> State { return call_step<State, shape.indexed>(step, no_parameters, i, x); });
      all.note(all.work.state_bytes, x1);
      return x1;
    });
  else if constexpr (shape.form == step_form::out_of_place)
    return out_of_place([&all, run](State const& x, State& x1, step_index i) {
      run(i, x, x1);
      all.note(all.work.state_bytes, x1);
    });
  else
    return in_place([&all, run](State& x, step_index i) {
      run(i, x);
      all.note(all.work.state_bytes, x);
    });
}
/// The given adjoint with a clock around it. Measures adjoints and tapes.
template <class State, class Bar, class Adjoint, class Measures>
[[nodiscard]] auto timed_adjoint(Adjoint& adjoint, Measures& all) {
  static constexpr auto shape = shape_of_adjoint<Adjoint, State, Bar>();
  auto const reverse = [&](Bar& bar, auto call) {
    all.note(all.work.adjoint_bytes, bar);
    all.timed(all.reversals, call);
  };
  [[maybe_unused]] auto const back = [&adjoint, reverse](auto const& x, State const* x1, Bar& bar, step_index first,
                                                         step_index last) {
    reverse(bar, [&] { call_back<State>(adjoint, x, x1, bar, no_parameters, no_gradient, first, last); });
  };
  if constexpr (shape.form == adjoint_form::leaf)
    return leaf(
        [back](State const& x, Bar& bar, step_index first, step_index last) { back(x, nullptr, bar, first, last); });
  else if constexpr (shape.form == adjoint_form::with_next)
    return with_next(
        [back](State const& x, State const& x1, Bar& bar, step_index i) { back(x, address_of(x1), bar, i, i + 1); });
  else if constexpr (shape.form == adjoint_form::recorded) {
    using tape = typename tape_of<Adjoint, State, true>::type;
    return recorded{[&adjoint, &all](State& x, step_index const i) -> tape {
                      auto const made = [&]() -> tape {
                        return all.timed(all.records, [&]() -> tape { return record_step(adjoint.record, x, i); });
                      };
                      struct noted {  // a tape need not be movable, so the state is weighed while it is returned
                        Measures& all;
                        State const& x;
                        int const thrown = std::uncaught_exceptions();
                        ~noted() noexcept(false) {
                          if (std::uncaught_exceptions() == thrown) all.note(all.work.state_bytes, x);
                        }
                      } const after{all, x};
                      if constexpr (sized_state<tape>) return made();
                      else {
                        wide const state = all.scale.weigh(x), before = all.scale.held();
                        tape kept = made();
                        all.note_tape(sizeof(tape) + all.scale.above(before), state, all.scale.weigh(x));
                        return kept;
                      }
                    },
                    [&adjoint, &all, reverse](tape& kept, Bar& bar, [[maybe_unused]] step_index const i) {
                      all.note_told(all.work.tape_bytes, kept);
                      reverse(bar, [&] { pull_back_step<shape.reverse_indexed>(adjoint.reverse, bar, kept, i); });
                    }};
  } else return [back](State const& x, Bar& bar, step_index i) { back(x, nullptr, bar, i, i + 1); };
}

/// Times of single calls if they are long enough for the clock, otherwise of many in a row.
template <class State, class Bar, class Clock, class Held, class Step, class Seed, class Adjoint>
void time_calls(loop_measures<Clock, Held>& all, Step& step, State const& x0, Seed& seed, Adjoint& adjoint,
                step_index tried) {
  constexpr bool records = shape_of_adjoint<Adjoint, State, Bar>().form == adjoint_form::recorded;
  timings steps, records_alone, reversals;
  bool const short_steps = !all.clock.tells(all.steps.median()),
             short_reversals = !all.clock.tells(all.reversals.median());
  bool const short_records = records && !all.clock.tells(all.records.median());
  if (tried > 0 && (short_steps || short_records || short_reversals)) {
    short_calls<Clock, State, Bar, Step, Seed, Adjoint> calls{
        step, seed, adjoint, all.clock, all.work.state_bytes + all.work.adjoint_bytes + all.work.tape_bytes};
    calls.each_step(x0, tried, [&] {
      if (short_steps) steps.add(calls.step_seconds());
      if (short_reversals) reversals.add(calls.adjoint_seconds());
      if constexpr (records)
        if (short_records) records_alone.add(calls.record_seconds());
    });
  }
  all.work.step_seconds = short_steps ? steps.median() : all.clock.net(all.steps.median());
  all.work.adjoint_seconds = short_reversals ? reversals.median() : all.clock.net(all.reversals.median());
  if constexpr (records)
    all.work.record_seconds = short_records ? records_alone.median() : all.clock.net(all.records.median());
}

/// What the places that hold tapes take in addition, and what the adjoint says of its leaves. Where it does not say,
/// longer leaves are left unknown.
/// \param x  the first state
template <class State, class Bar, class Adjoint, class Input>
void note_tapes(workload& work, [[maybe_unused]] Adjoint& adjoint, [[maybe_unused]] Input& x) {
  static constexpr auto form = shape_of_adjoint<Adjoint, State, Bar>().form;
  if constexpr (form == adjoint_form::recorded) {
    using tape = typename tape_of<Adjoint, State, true>::type;
    if (work.tape_bytes > 0) work.tape_bytes += sizeof(std::optional<tape>) - sizeof(tape);
    work.tape_inline_bytes = work.tape_bytes > 0 ? wide{sizeof(std::optional<tape>)} : 0;
    work.tapes_restart = restarts<Adjoint, State, tape>;
  } else if constexpr (says_leaf_bytes<Adjoint, Input>) {
    if (*work.steps < 1) return;
    wide const one = leaf_bytes_of(adjoint, x, 1, 0);
    work.tape_bytes = one;
    if constexpr (form == adjoint_form::leaf) {
      // A tool records to know; otherwise at most what a line through leaves of one step and of 2, 4, 8 ... says.
      step_index const longest = tells_leaf_bytes<Adjoint> ? *work.steps : lesser<step_index>(*work.steps, 2);
      for (step_index leaf = 2; leaf <= longest && leaf <= (step_index{1} << 40); leaf *= 2)
        if (wide const all = leaf_bytes_of(adjoint, x, leaf, 0); all > one)
          work.tape_step_bytes = greater(work.tape_step_bytes, (all - one + wide(leaf) - 2) / wide(leaf - 1));
      work.tape_bytes = one - lesser(one, work.tape_step_bytes);
    }
  } else if constexpr (form == adjoint_form::leaf) {
    work.tape_bytes = unknown_bytes;
  }
}

template <class Clock, class State, class Step, class Seed, class Adjoint, class Held>
[[nodiscard]] workload probed(Step& step, State const& x0, step_index steps, Seed& seed, Adjoint& adjoint,
                              step_index tried, Held& held) {
  using Bar = bar_type<Seed, State>;
  static constexpr auto shape = shape_of_adjoint<Adjoint, State, Bar>();
  workload work{.adjoint_bytes = 0, .tape_bytes = 0};
  loop_measures<Clock, Held> all{work, scales<Held>{held}};
  work.steps = steps;
  all.note(work.state_bytes, x0);
  work.initial_bytes = work.state_bytes;
  work.form = {shape_of_step<Step, State>().form, shape.form, shape.by_value};
  auto const timed = timed_step<State>(step, all);
  auto const back = timed_adjoint<State, Bar>(adjoint, all);
  step_index const few = lesser(tried, steps);
  all.note(work.adjoint_bytes, gradient(timed, x0, uniform{few}, seed, back));
  work.state_inline_bytes = work.state_bytes < sizeof(State) ? work.state_bytes : wide{sizeof(State)};
  time_calls<State, Bar>(all, step, x0, seed, adjoint, few);
  if (steps > 0) {
    copy_times const copies = time_copies<Clock>(x0, work.state_bytes);
    work.frame_seconds = copies.first;
    if (work.form.step == step_form::in_place) work.tiers.memory.write_seconds = copies.again;
  }
  note_tapes<State, Bar>(work, adjoint, x0);
  return work;
}

/// The same for an object, with its snapshots measured. Bytes of the object itself are counted only if it reports them.
template <class Clock, class State, class Step, class Seed, class Adjoint, class Held>
[[nodiscard]] workload probed_object(Step& step, State& x, step_index steps, Seed& seed, Adjoint& adjoint,
                                     step_index tried, Held& held) {
  using Bar = bar_type<Seed, State>;
  static constexpr auto shape = shape_of_adjoint<Adjoint, State, Bar>();
  workload work{.adjoint_bytes = 0, .tape_bytes = 0};
  loop_measures<Clock, Held> all{work, scales<Held>{held}};
  work.steps = steps;
  work.form = {.adjoint = shape.form, .adjoint_by_value = shape.by_value, .snapshots = true};
  work.initial_bytes = 0;
  if constexpr (sized_state<State>) work.initial_bytes = bytes_of(x);
  {
    put_back_at_end<State> const here{x};
    object_probe<Clock, State, Bar, Step, Adjoint, decltype(all)>{x, step, adjoint, all}.run(
        seed, lesser(tried, steps));
  }
  using snapshot = stored_as<State>;
  work.state_inline_bytes = work.state_bytes < sizeof(snapshot) ? work.state_bytes : wide{sizeof(snapshot)};
  note_tapes<State, Bar>(work, adjoint, x);
  return work;
}

/// Whether state, adjoint and tape can all be measured.
template <class State, class Bar, class Adjoint, class Held>
[[nodiscard]] consteval bool can_weigh() {
  if constexpr (!weighed<stored_as<State>, Held> || !weighed<Bar, Held>) return false;
  else if constexpr (shape_of_adjoint<Adjoint, State, Bar>().form == adjoint_form::recorded) {
    using tape = typename tape_of<Adjoint, State, true>::type;
    return sized_state<tape> || (scales<Held>::can_measure && std::move_constructible<tape>);
  } else return true;
}

}  // namespace cairn::detail
