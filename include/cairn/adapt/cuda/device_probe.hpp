// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file device_probe.hpp  Measures the sizes and times of a loop on a device, for `plan_for_device`.
#include <chrono>
#include <cstddef>
#include <optional>
#include <type_traits>
#include <utility>
#include <vector>
#include <cairn/adapt/cuda/detail/device_forms.hpp>
#include <cairn/adapt/cuda/detail/state_copies.hpp>
#include <cairn/adapt/cuda/device_buffer.hpp>
#include <cairn/adapt/cuda/runtime.hpp>
#include <cairn/core/buffers.hpp>
#include <cairn/door/wrt.hpp>
#include <cairn/rules/workload.hpp>
#include <cairn/run/probe/detail/timings.hpp>
#include <cairn/schedule/detail/remarks.hpp>

namespace cairn {
namespace detail {

/// Times work in a stream, many calls in a row, by a clock of the host.
template <class Clock, device_runtime Runtime>
class stream_stopwatch {
 public:
  stream_stopwatch(Runtime& runtime, typename Runtime::stream stream) : runtime_{runtime}, stream_{stream} {}
  stream_stopwatch(stream_stopwatch const&) = delete;
  /// Waits for the stream, because its work uses memory that is freed next.
  ~stream_stopwatch() {
    try {
      runtime_.sync(stream_);
    } catch (...) {  // the device's context is lost: nothing runs any more
    }
  }

  /// Seconds per call of the calls that `put(count)` puts into the stream after `prepare()`. Puts so many calls at once
  /// that the host's part at the beginning and the wait at the end are negligible.
  /// \param most  most calls at once, >= 1
  template <class Prepare, class Put>
  [[nodiscard]] double seconds_of_one(step_index most, Prepare prepare, Put put) {
    auto const timed = [&](step_index count) {
      prepare();
      runtime_.sync(stream_);
      auto const begin = Clock::now();
      put(count);
      runtime_.sync(stream_);
      auto const end = Clock::now();
      check_launches(runtime_, "cairn::device_probe", "a launch of the start, step, seed or adjoint failed");
      return seconds_between(begin, end);
    };
    static_cast<void>(timed(1));  // the first call loads code and touches memory
    step_index count = 1;
    double least = timed(count);
    while (least < long_enough && count < most) {
      count = count > most / 2 ? most : 2 * count;
      least = timed(count);
    }
    for (int again = 0; again < 2; ++again)
      if (double const seconds = timed(count); seconds < least) least = seconds;
    return least / double(count);
  }

 private:
  static constexpr double long_enough = 0.02;

  Runtime& runtime_;
  typename Runtime::stream stream_;
};

template <class Clock, device_runtime Runtime, class State, class Step, class Start, class Seed, class Adjoint,
          class Bar>
class device_measurement {
 public:
  using stream = typename Runtime::stream;

  template <class Make>
  device_measurement(Runtime& runtime, stream in, Make& make, Step& step, Start& start, Seed& seed, Adjoint& adjoint,
                     Bar& bar)
      : runtime_{runtime},
        stream_{in},
        step_{step},
        start_{start},
        seed_{seed},
        adjoint_{adjoint},
        bar_{bar},
        stopwatch_{runtime, in} {
    frames_.reserve(2);
    frames_.push_back(make());
    frames_.push_back(make());
    copier_.emplace(state_layout{frames_[0]});
    slot_ = {runtime, copier_->layout().device_bytes()};
  }

  [[nodiscard]] workload measure(step_index steps, std::optional<wide> bar_bytes) {
    workload work;
    work.steps = steps;
    work.state_bytes = copier_->layout().device_bytes();
    if (bar_bytes) work.adjoint_bytes = *bar_bytes;
    else if constexpr (shows_bytes<Bar>) work.adjoint_bytes = state_layout{std::as_const(bar_)}.device_bytes();
    work.form.step = form;
    check_earlier_launches(runtime_, "cairn::device_probe");
    begin();
    if (steps > 0) {
      work.step_seconds = stopwatch_.seconds_of_one(steps, [&] { begin(); }, [&](step_index count) { run(count); });
      work.adjoint_seconds = stopwatch_.seconds_of_one(steps, [&] { begin_back(); }, [&](step_index count) {
        for (step_index k = 0; k < count; ++k) adjoint_(std::as_const(frames_[0]), bar_, step_index{0}, stream_);
      });
    }
    auto const nothing = [] {};
    auto const host = [&](copy_kind kind) {
      return stopwatch_.seconds_of_one(most_copies, nothing, [&](step_index count) {
        for (step_index k = 0; k < count; ++k) copy_to_or_from_host(kind);
      });
    };
    work.tiers.host.write_seconds = host(copy_kind::device_to_host);
    work.tiers.host.read_seconds = host(copy_kind::host_to_device);
    work.tiers.device.write_seconds = stopwatch_.seconds_of_one(most_copies, nothing, [&](step_index count) {
      for (step_index k = 0; k < count; ++k) copier_->copy(runtime_, frames_[0], frames_[1], stream_);
    });
    return work;
  }

 private:
  static constexpr step_form form = device_step_form<Step, State, stream>();
  static constexpr step_index most_copies = 1024;

  void begin() {
    if constexpr (std::is_same_v<std::remove_cv_t<Start>, State>) copier_->copy(runtime_, start_, frames_[0], stream_);
    else start_(frames_[0], stream_);
  }
  /// Runs the first steps of the loop.
  void run(step_index count) {
    for (step_index i = 0; i < count; ++i) {
      auto const here = std::size_t(i % 2);
      if constexpr (form == step_form::in_place) step_(frames_[0], std::as_const(i), stream_);
      else step_(std::as_const(frames_[here]), frames_[1 - here], std::as_const(i), stream_);
    }
  }
  /// Prepares the adjoint of the first step: the frames hold the initial state and the one after it, and bar is the
  /// adjoint of the latter.
  void begin_back() {
    begin();
    step_index const first = 0;
    if constexpr (form == step_form::in_place) {
      copier_->copy(runtime_, frames_[0], frames_[1], stream_);
      step_(frames_[1], first, stream_);
    } else step_(std::as_const(frames_[0]), frames_[1], first, stream_);
    seed_(std::as_const(frames_[1]), bar_, stream_);
  }
  void copy_to_or_from_host(copy_kind kind) {
    copier_->layout().each(frames_[0], [&](void* at, state_layout::run const& part) {
      if (!part.on_device) return;
      void* const there = static_cast<unsigned char*>(slot_.data()) + part.offset;
      if (kind == copy_kind::device_to_host) runtime_.copy(there, at, part.bytes, kind, stream_);
      else runtime_.copy(at, there, part.bytes, kind, stream_);
    });
  }

  Runtime& runtime_;
  stream stream_;
  Step& step_;
  Start& start_;
  Seed& seed_;
  Adjoint& adjoint_;
  Bar& bar_;
  std::vector<State> frames_;
  std::optional<state_copier<Runtime, State>> copier_;
  pinned_buffer<Runtime> slot_;
  stream_stopwatch<Clock, Runtime> stopwatch_;
};

template <class Make> using probed_state = std::remove_cvref_t<decltype(std::declval<Make&>()())>;

/// \param bar_bytes  a `wide`, or std::nullopt if bar shows them
template <class Clock, device_runtime Runtime, class Make, class Step, class Start, class Seed, class Adjoint,
          class Bar, class Bytes>
[[nodiscard]] workload probed_on_device(Runtime& runtime, typename Runtime::stream stream, Make& make, Step& step,
                                        Start& start, step_index steps, Seed& seed, Adjoint& adjoint, Bar& bar,
                                        Bytes bar_bytes) {
  using State = probed_state<Make>;
  if constexpr (!check_device_sweep<State, typename Runtime::stream, Step, Start, no_plan, Seed, Adjoint, Bar>())
    return {};
  else {
    constexpr bool told = shows_bytes<Bar> || std::is_same_v<Bytes, wide>;
    static_assert(
        told,
        "cairn: device_probe cannot determine how many bytes of device memory this adjoint holds; give its type a "
        "member visit_buffers(f), specialise cairn::state_traits with visit_buffers(x, f), or give device_probe these "
        "bytes after bar");
    if constexpr (!told) return {};
    else {
      check_steps("cairn::device_probe", steps);
      using measurement = device_measurement<Clock, Runtime, State, Step, Start, Seed, Adjoint, Bar>;
      return measurement{runtime, stream, make, step, start, seed, adjoint, bar}.measure(steps, bar_bytes);
    }
  }
}

}  // namespace detail

/// Sizes and times of a loop of `steps` steps on this device: seconds of a step, of an adjoint, and of a copy of a
/// state to the host, from the host, and within the device; bytes of a state and of `bar` in device memory; and the
/// form of the step. Set `tiers.host.bytes`, the pinned memory that may be used, and pass the result to
/// `plan_for_device`.
///
/// Runs the first steps of the loop a few times, and the adjoint of its first step many times in a row. Step, seed and
/// adjoint also write whatever else they write in a sweep, and bar is left with meaningless numbers: reset sums over
/// all steps to 0 afterwards. Calls are put into the stream one after the other, enough to take 0.02 s but no more than
/// the loop has; the fastest of three such runs counts. Each run includes one launch and one wait of the host. If the
/// host takes longer to launch a step than the device to run it, the host's time counts, as it does in the sweep.
/// \tparam Clock  has now() like the clocks of the standard library
/// \param make, step, start, seed, adjoint, bar  as for `device_sweep`; `visit_buffers` must accept the type of bar
/// \param steps  loop length, >= 0; with 0 only copies are timed
/// Cost: two states on the device and one pinned, freed at the end; about 0.15 s for each of five figures, or 4 calls
/// if a call takes longer
/// \throws invalid_plan   before anything is allocated
/// \throws out_of_memory, device_error, and what the functions throw, after the stream is done
template <class Clock = std::chrono::steady_clock, device_runtime Runtime, class Make, class Step, class Start,
          class Seed, class Adjoint, class Bar>
[[nodiscard]] workload device_probe(Runtime& runtime, typename Runtime::stream stream, Make&& make, Step&& step,
                                    Start&& start, step_index steps, Seed&& seed, Adjoint&& adjoint, Bar& bar) {
  return detail::probed_on_device<Clock>(runtime, stream, make, step, start, steps, seed, adjoint, bar, std::nullopt);
}
/// The same for an adjoint of any type.   \param bar_bytes  bytes of device memory that `bar` holds
template <class Clock = std::chrono::steady_clock, device_runtime Runtime, class Make, class Step, class Start,
          class Seed, class Adjoint, class Bar>
[[nodiscard]] workload device_probe(Runtime& runtime, typename Runtime::stream stream, Make&& make, Step&& step,
                                    Start&& start, step_index steps, Seed&& seed, Adjoint&& adjoint, Bar& bar,
                                    wide bar_bytes) {
  return detail::probed_on_device<Clock>(runtime, stream, make, step, start, steps, seed, adjoint, bar, bar_bytes);
}
/// The same for a loop with parameters, given as to `device_sweep::gradient`; leaves zeros in dp.
template <class Clock = std::chrono::steady_clock, device_runtime Runtime, class Make, class Step, class Start,
          class Seed, class Adjoint, class Bar, class Params, class DP>
[[nodiscard]] workload device_probe(Runtime& runtime, typename Runtime::stream stream, Make&& make, Step&& step,
                                    Start&& start, step_index steps, Seed&& seed, Adjoint&& adjoint, Bar& bar,
                                    wrt<Params, DP> by) {
  using State = detail::probed_state<Make>;
  using Stream = typename Runtime::stream;
  if constexpr (!detail::check_device_params<Runtime, wrt<Params, DP>>()) return {};
  else if constexpr (!detail::check_device_sweep<State, Stream, std::remove_reference_t<Step>,
                                                 std::remove_reference_t<Start>, detail::no_plan,
                                                 std::remove_reference_t<Seed>, std::remove_reference_t<Adjoint>, Bar,
                                                 wrt<Params, DP>>())
    return {};
  else {
    auto const found = detail::device_functions<State, Stream, Bar, wrt<Params, DP>>::bound(
        by, step, seed, adjoint, [&](auto& runs, auto& ends, auto& pulls) {
          return device_probe<Clock>(runtime, stream, make, runs, start, steps, ends, pulls, bar);
        });
    detail::zero_on_device(runtime, by.dp, stream);
    return found;
  }
}

}  // namespace cairn
