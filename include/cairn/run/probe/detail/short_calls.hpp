// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file short_calls.hpp  Times calls that are too short for the clock: many in a row, each on its own copy.
#include <cstddef>
#include <optional>
#include <utility>
#include <cairn/core/state_traits.hpp>
#include <cairn/door/forms.hpp>
#include <cairn/run/form/detail/loop_step.hpp>
#include <cairn/run/gradient.hpp>
#include <cairn/run/probe/detail/timings.hpp>
#include <cairn/run/sweep/detail/frames.hpp>
#include <cairn/run/sweep/detail/maybe.hpp>

namespace cairn::detail {

/// How many copies of `bytes` bytes fit into a few MiB; at least one.
[[nodiscard]] constexpr std::size_t copies_in_reach(wide bytes) noexcept {
  constexpr wide cache_bytes = 8 << 20, most = 1 << 16;
  wide const fit = bytes == 0 ? most : cache_bytes / bytes;
  return std::size_t(fit < 1 ? 1 : fit > most ? most : fit);
}
/// The number of calls to try next, after `count` calls were too short for the clock.
[[nodiscard]] constexpr std::size_t next_count(std::size_t count, std::size_t most) noexcept {
  return count > most / 2 ? most : 2 * count;
}
/// Number of measurements of one kind; the median counts.
inline constexpr int runs_of_short_calls = 5;

/// Calls each of the first steps often enough in a row for the clock: on copies of the state before it, made outside
/// the timed section, so that no call sees the result of another.
template <class Clock, class State, class Bar, class Step, class Seed, class Adjoint>
class short_calls {
  static constexpr auto step_shape = shape_of_step<Step, State>();
  static constexpr auto shape = shape_of_adjoint<Adjoint, State, Bar>();
  static constexpr bool records = shape.form == adjoint_form::recorded;
  using tape = typename tape_of<Adjoint, State, records>::type;

 public:
  /// \param bytes  bytes of one copy of all that a call needs
  short_calls(Step& step, Seed& seed, Adjoint& adjoint, clock_precision<Clock>& clock, wide bytes)
      : step_{step}, seed_{seed}, adjoint_{adjoint}, clock_{clock}, most_{copies_in_reach(bytes)} {
    path_.begin(3);
  }

  /// Calls `use()` for each of the first steps; the functions below then measure step i.
  template <class Use>
  void each_step(State const& x0, step_index tried, Use use) {
    frame_id here = path_.take();
    path_.copy_in(x0, here);
    for (step_index i = 0; i < tried; ++i) {
      frame_id next = here;
      path_.keep(here);
      step_index failed = -1;
      path_.run(step_, next, i, i + 1, failed);
      i_ = i, x_ = &std::as_const(path_).state(here), x1_ = &std::as_const(path_).state(next);
      use();
      path_.release(here);
      here = next;
    }
  }
  [[nodiscard]] double step_seconds() {
    return seconds_of_one([this](std::size_t count) { copy_states(count); },
                          [this](std::size_t count) {
                            for (std::size_t k = 0; k < count; ++k) run_step(frame_id(k));
                          });
  }
  [[nodiscard]] double record_seconds() {
    return seconds_of_one([this](std::size_t count) { copy_states(count), clear_tapes(count); },
                          [this](std::size_t count) { record(count); });
  }
  [[nodiscard]] double adjoint_seconds() {
    auto const prepare = [this](std::size_t count) {
      if constexpr (records) copy_states(count), clear_tapes(count), record(count);
      bars_.begin(count);
      for (std::size_t k = 0; k < count; ++k) make_bar(bars_[slot_index(k)]);
    };
    return seconds_of_one(prepare, [this](std::size_t count) {
      for (std::size_t k = 0; k < count; ++k)
        if constexpr (records)
          pull_back_step<shape.reverse_indexed>(adjoint_.reverse, *bars_[slot_index(k)], *tapes_[slot_index(k)], i_);
        else call_back<State>(adjoint_, *x_, x1_, *bars_[slot_index(k)], no_parameters, no_gradient, i_, i_ + 1);
    });
  }

 private:
  /// The median of several measurements, each with as many calls as the clock needs or memory allows.
  template <class Prepare, class Run>
  [[nodiscard]] double seconds_of_one(Prepare prepare, Run run) {
    for (std::size_t count = 1;; count = next_count(count, most_)) {
      timings runs;
      for (int again = 0; again < runs_of_short_calls; ++again) {
        prepare(count);
        auto const begin = Clock::now();
        run(count);
        double const seconds = seconds_between(begin, Clock::now());
        clock_.saw(seconds);
        runs.add(seconds);
      }
      if (count == most_ || clock_.tells(runs.median())) return clock_.net(runs.median()) / double(count);
    }
  }
  void copy_states(std::size_t count) {
    if (slot_index(count) > copies_.limit()) copies_.begin(slot_index(count));
    while (copies_.known() < slot_index(count)) (void)copies_.take();
    for (std::size_t k = 0; k < count; ++k) copies_.copy_in(*x_, frame_id(k));
  }
  void run_step(frame_id k) {
    [[maybe_unused]] auto const run = [this](auto&... x) -> decltype(auto) {
      return call_step<State, step_shape.indexed>(step_, no_parameters, i_, *x_, x...);
    };
    if constexpr (step_shape.form == step_form::by_value) copies_.emplace_made(k, [&]() -> State { return run(); });
    else if constexpr (step_shape.form == step_form::out_of_place) run(copies_.state(k));
    else call_step<State, step_shape.indexed>(step_, no_parameters, i_, copies_.state(k));
  }
  void clear_tapes(std::size_t count) {
    if constexpr (records) tapes_.begin(count);
  }
  void record(std::size_t count) {
    if constexpr (records)
      for (std::size_t k = 0; k < count; ++k)
        emplace_by(tapes_[slot_index(k)],
                   [&]() -> tape { return record_step(adjoint_.record, copies_.state(frame_id(k)), i_); });
  }
  /// The bar of the state after the step. Copies of one bar if it can be copied, because a seed may take longer than
  /// all the rest.
  void make_bar(std::optional<Bar>& bar) {
    if constexpr (!copied_state<Bar>) fill_bar<State>(bar, seed_, *x1_);
    else {
      if (bar_of_ != i_) fill_bar<State>(seeded_, seed_, *x1_), bar_of_ = i_;
      emplace_by(bar, [&] { return copy_of<Bar>(*seeded_); });
    }
  }

  Step& step_;
  Seed& seed_;
  Adjoint& adjoint_;
  clock_precision<Clock>& clock_;
  std::size_t most_;
  frames<State> path_, copies_;
  tape_slots<tape> tapes_;
  tape_slots<Bar> bars_;
  maybe<Bar> seeded_;
  step_index bar_of_ = -1, i_ = -1;
  State const *x_ = nullptr, *x1_ = nullptr;
};

}  // namespace cairn::detail
