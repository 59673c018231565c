// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file object_probe.hpp  Sizes and times of a loop over an object. Measures on the object itself, and restores it at
/// the end.
#include <cstddef>
#include <optional>
#include <type_traits>
#include <utility>
#include <vector>
#include <cairn/core/state_traits.hpp>
#include <cairn/door/forms.hpp>
#include <cairn/run/form/detail/loop_step.hpp>
#include <cairn/run/form/detail/reversal.hpp>
#include <cairn/run/gradient.hpp>
#include <cairn/run/probe/detail/short_calls.hpp>
#include <cairn/run/probe/detail/timings.hpp>
#include <cairn/run/sweep/detail/call.hpp>

namespace cairn::detail {

/// A guard that restores an object when the guard is destroyed.
template <class State>
class put_back_at_end {
 public:
  explicit put_back_at_end(State& x) : x_{x}, snapshot_{taken_snapshot(std::as_const(x))} {}
  put_back_at_end(put_back_at_end const&) = delete;
  ~put_back_at_end() noexcept(false) { restore_state(x_, std::as_const(snapshot_)); }

 private:
  State& x_;
  stored_as<State> snapshot_;
};

/// The first steps of a loop over an object. Every call is measured on the object, which is restored before it.
template <class Clock, class State, class Bar, class Step, class Adjoint, class Measures>
class object_probe {
  static constexpr auto shape = shape_of_adjoint<Adjoint, State, Bar>();
  static constexpr bool records = shape.form == adjoint_form::recorded;
  using tape = typename tape_of<Adjoint, State, records>::type;

 public:
  object_probe(State& x, Step& step, Adjoint& adjoint, Measures& all)
      : x_{x}, step_{step}, adjoint_{adjoint}, all_{all} {}

  /// Sizes and times of the first `tried` steps and their adjoints.
  template <class Seed>
  void run(Seed& seed, step_index tried) {
    std::vector<stored_as<State>> path;
    path.reserve(std::size_t(tried) + 1);
    timings steps, recordings, reversals, saves, restores;
    path.push_back(taken_snapshot(std::as_const(x_)));
    all_.note(all_.work.state_bytes, path.back());
    for (step_index i = 0; i < tried; ++i) {
      run_step(i);
      path.push_back(taken_snapshot(std::as_const(x_)));
      all_.note(all_.work.state_bytes, path.back());
    }
    bars_.begin(2);
    tapes_.begin(1);
    auto &last = bars_[0], &bar = bars_[1];
    fill_bar<State>(last, seed, x_);
    if constexpr (!std::is_same_v<Bar, library_bar>) all_.note(all_.work.adjoint_bytes, *last);
    for (step_index i = tried; i-- > 0;) {
      auto const& before = std::as_const(path)[std::size_t(i)];
      auto const put_back = [&] { restore_state(x_, before); };
      put_back();
      steps.add(seconds_of(put_back, [&] { run_step(i); }));
      [[maybe_unused]] auto& made = tapes_[0];
      auto const begin_adjoint = [&] {
        put_back();
        emplace_by(bar, [&] { return copy_of<Bar>(*last); });
      };
      if constexpr (records) {
        put_back();
        record_weighed(made, i);
        recordings.add(seconds_of(
            [&] {
              put_back();
              made.reset();
            },
            [&] { record(made, i); }));
        auto const begin_reverse = [&] {
          begin_adjoint();
          made.reset();
          record(made, i);
        };
        reversals.add(seconds_of(begin_reverse,
                                 [&] { pull_back_step<shape.reverse_indexed>(adjoint_.reverse, *bar, *made, i); }));
      } else {
        reversals.add(seconds_of(begin_adjoint, [&] {
          call_back<State>(adjoint_, x_, nullptr, *bar, no_parameters, no_gradient, i, i + 1);
        }));
      }
      restores.add(seconds_of([] {}, put_back));
      saves.add(seconds_of([] {}, [&] { save_again(path.back()); }));
    }
    all_.work.step_seconds = steps.median();
    all_.work.adjoint_seconds = reversals.median();
    if constexpr (records) all_.work.record_seconds = recordings.median();
    all_.work.tiers.memory.write_seconds = saves.median();
    all_.work.tiers.memory.read_seconds = restores.median();
  }

 private:
  void run_step(step_index i) {
    step_index failed = i;
    run_in_place(step_, x_, i, i + 1, failed);
  }
  void record(std::optional<tape>& into, step_index i) {
    emplace_by(into,
               [&] { return taken_from([&]() -> decltype(auto) { return record_step(adjoint_.record, x_, i); }); });
  }
  void record_weighed(std::optional<tape>& into, step_index i) {
    if constexpr (sized_state<tape>) {
      record(into, i);
      all_.note(all_.work.tape_bytes, *into);
    } else {
      into.reset();
      wide const before = all_.scale.held();
      record(into, i);
      all_.note_tape(sizeof(tape) + all_.scale.above(before), 0, 0);
    }
  }
  /// Saves as a sweep does: into an old snapshot if the object can.
  void save_again(stored_as<State>& into) {
    if constexpr (saves_into<State>) save_state(std::as_const(x_), into);
    else (void)taken_snapshot(std::as_const(x_));
  }
  /// Seconds of one call, with `prepare()` before each. Times a single call if it is long enough for the clock;
  /// otherwise as many in a row as needed, minus the time of as many calls of only `prepare()`.
  template <class Prepare, class Call>
  [[nodiscard]] double seconds_of(Prepare prepare, Call call) {
    auto const& clock = all_.clock;
    prepare();
    auto const begin = Clock::now();
    call();
    double const one = seconds_between(begin, Clock::now());
    all_.clock.saw(one);
    if (clock.tells(one)) return clock.net(one);
    constexpr std::size_t most = 1 << 12;
    for (std::size_t count = 2;; count = next_count(count, most)) {
      timings with, without;
      for (int again = 0; again < runs_of_short_calls; ++again) {
        auto const first = Clock::now();
        for (std::size_t k = 0; k < count; ++k) prepare(), call();
        auto const second = Clock::now();
        for (std::size_t k = 0; k < count; ++k) prepare();
        auto const third = Clock::now();
        with.add(seconds_between(first, second));
        without.add(seconds_between(second, third));
      }
      double const calls = with.median() - without.median();
      if (count == most || clock.tells(calls)) return calls > 0 ? calls / double(count) : 0;
    }
  }

  State& x_;
  Step& step_;
  Adjoint& adjoint_;
  Measures& all_;
  tape_slots<Bar> bars_;
  tape_slots<tape> tapes_;
};

}  // namespace cairn::detail
