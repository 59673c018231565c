// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file virtual_device.hpp  A device that only counts time, and the time of a sweep on it.
#include <cstddef>
#include <cstdint>
#include <deque>
#include <new>
#include <vector>
#include <cairn/adapt/cuda/device_capacity.hpp>
#include <cairn/adapt/cuda/runtime.hpp>
#include <cairn/adapt/cuda/sweep.hpp>
#include <cairn/core/action.hpp>
#include <cairn/core/device_memory.hpp>
#include <cairn/rules/workload.hpp>

namespace cairn {
namespace detail {

/// Streams as queues of durations. The host takes no time. Each stream has its own copy engine, so that at most one
/// copy runs in each direction; or all copies to and from the host share one engine, which takes the copy that can
/// start first, and of several the one that was put first.
class virtual_device {
 public:
  using stream = std::size_t;
  using event = std::size_t;

  virtual_device(workload const& work, bool one_copy_engine)
      : seconds_of_{work.tiers.device.write_seconds, work.tiers.host.write_seconds, work.tiers.host.read_seconds},
        one_copy_engine_{one_copy_engine} {}

  void spend(stream in, double seconds) {
    auto& mine = streams_[in];
    if (mine.waiting.empty()) mine.time += seconds;
    else if (mine.waiting.back().what == kind::work) mine.waiting.back().seconds += seconds;
    else mine.waiting.push_back({kind::work, seconds});
  }
  /// The time at which everything in the stream is done.
  [[nodiscard]] double end(stream in) {
    while (copy_next()) {}
    return streams_[in].time;
  }

  [[nodiscard]] void* device_alloc(std::size_t) { return nullptr; }
  void device_free(void*) noexcept {}
  [[nodiscard]] void* pinned_alloc(std::size_t bytes) { return ::operator new(bytes); }
  void pinned_free(void* at) noexcept { ::operator delete(at); }
  [[nodiscard]] stream make_stream() {
    streams_.emplace_back();
    return streams_.size() - 1;
  }
  void destroy(stream) noexcept {}
  [[nodiscard]] event make_event() {
    events_.push_back(no_mark);
    return events_.size() - 1;
  }
  void record(event at, stream in) {
    auto& mine = streams_[in];
    events_[at] = marks_.size();
    marks_.push_back(mine.waiting.empty() ? mine.time : not_reached);
    if (!mine.waiting.empty()) mine.waiting.push_back({kind::mark, 0, events_[at]});
  }
  void wait(stream in, event until) {
    if (events_[until] == no_mark) return;
    auto& mine = streams_[in];
    double const time = marks_[events_[until]];
    if (!mine.waiting.empty() || time == not_reached) mine.waiting.push_back({kind::wait, 0, events_[until]});
    else if (time > mine.time) mine.time = time;
  }
  void sync(std::size_t) noexcept {}
  [[nodiscard]] bool done(event) const noexcept { return true; }
  void copy(void*, void const*, std::size_t, copy_kind kind_of_copy, stream in) {
    double const seconds = seconds_of_[std::size_t(kind_of_copy)];
    if (!one_copy_engine_ || kind_of_copy == copy_kind::device_to_device) spend(in, seconds);
    else streams_[in].waiting.push_back({kind::copy, seconds, no_mark, copies_++});
  }
  [[nodiscard]] std::size_t free_bytes() const noexcept { return 0; }
  [[nodiscard]] int device() const noexcept { return 0; }

 private:
  static constexpr std::size_t no_mark = ~std::size_t{0};
  static constexpr double not_reached = -1;
  enum class kind : std::uint8_t { work, copy, mark, wait };
  struct item {
    kind what;
    double seconds = 0;
    std::size_t mark = no_mark, number = 0;
  };
  /// A queue that waits begins with a copy on the shared engine, or with a wait for something after such a copy;
  /// without a shared engine no queue waits.
  struct queue {
    double time = 0;
    std::deque<item> waiting;
  };

  /// Runs everything that needs no engine.
  void pass() {
    for (bool moved = true; moved;) {
      moved = false;
      for (auto& mine : streams_)
        for (; !mine.waiting.empty(); moved = true, mine.waiting.pop_front()) {
          item const& next = mine.waiting.front();
          if (next.what == kind::copy || (next.what == kind::wait && marks_[next.mark] == not_reached)) break;
          if (next.what == kind::work) mine.time += next.seconds;
          else if (next.what == kind::mark) marks_[next.mark] = mine.time;
          else if (marks_[next.mark] > mine.time) mine.time = marks_[next.mark];
        }
    }
  }
  /// Returns false if no copy is left.
  [[nodiscard]] bool copy_next() {
    pass();
    queue* first = nullptr;
    double start = 0;
    for (auto& mine : streams_) {
      if (mine.waiting.empty() || mine.waiting.front().what != kind::copy) continue;
      double const at = mine.time > engine_free_ ? mine.time : engine_free_;
      if (first == nullptr || at < start ||
          (at == start && mine.waiting.front().number < first->waiting.front().number))
        first = &mine, start = at;
    }
    if (first == nullptr) return false;
    engine_free_ = first->time = start + first->waiting.front().seconds;
    first->waiting.pop_front();
    return true;
  }

  double seconds_of_[3];  // indexed by copy_kind
  bool one_copy_engine_;
  std::vector<queue> streams_;
  std::vector<std::size_t> events_;  // the last mark of each event
  std::vector<double> marks_;        // the time at which each mark is reached
  std::size_t copies_ = 0;
  double engine_free_ = 0;
};

/// A state that takes one copy; its address is never read.
struct virtual_state {
  static constexpr bool in_device_memory = true;
  template <class Fn> void visit_buffers(Fn&& f) { f(device_pointer<void>{this}, std::size_t{1}); }
  template <class Fn> void visit_buffers(Fn&& f) const { f(device_pointer<void const>{this}, std::size_t{1}); }
};

}  // namespace detail

/// Predicts the seconds of a `device_sweep` by running one on a virtual clock: pass it to `plan_for_device`.
///
/// It waits where the sweep waits, and copies what the sweep copies. Launches cost nothing, and copies and steps do not
/// slow each other down. With one copy engine, the order of copies of states with several buffers may differ by one
/// buffer.
struct device_forecast {
  int copy_engines = 2;  ///< with 1 or fewer, copies to and from the host share an engine: see
                         ///< `cuda_runtime::copy_engines`

  /// \param work  `step_seconds`, `adjoint_seconds`, `form.step`; `tiers.host` for copies of one state,
  ///   `tiers.device.write_seconds` for one within the device   Cost: about 20 ns per step and action
  /// \throws invalid_plan, invalid_schedule   as `device_sweep::gradient`
  template <schedule Plan>
  [[nodiscard]] double operator()(Plan const& plan, device_capacity capacity, workload const& work) const {
    detail::virtual_device device{work, copy_engines < 2};
    std::size_t const c = device.make_stream();
    device_sweep<detail::virtual_device, detail::virtual_state> sweep{device, c, capacity,
                                                                      [] { return detail::virtual_state{}; }};
    using state = detail::virtual_state;
    auto const none = [](state&, std::size_t) {};
    auto const seed = [](state const&, state&, std::size_t) {};
    auto const adjoint = [&](state const&, state&, step_index, std::size_t) { device.spend(c, work.adjoint_seconds); };
    state bar;
    auto const step = [&](state const&, state&, step_index, std::size_t) { device.spend(c, work.step_seconds); };
    auto const step_in_place = [&](state&, step_index, std::size_t) { device.spend(c, work.step_seconds); };
    if (work.form.step == step_form::in_place) sweep.gradient(step_in_place, none, plan, seed, adjoint, bar);
    else sweep.gradient(step, none, plan, seed, adjoint, bar);
    return device.end(c);
  }
};

}  // namespace cairn
