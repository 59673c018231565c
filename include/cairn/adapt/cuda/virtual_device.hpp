#pragma once
/// \file virtual_device.hpp  A device that only tells how long things take, and the time of a sweep on it.
#include <cstddef>
#include <new>
#include <vector>
#include <cairn/adapt/cuda/runtime.hpp>
#include <cairn/adapt/cuda/sweep.hpp>
#include <cairn/core/action.hpp>
#include <cairn/core/device_memory.hpp>
#include <cairn/core/device_room.hpp>
#include <cairn/core/workload.hpp>

namespace cairn {
namespace detail {

/// Streams as numbers of seconds. Each stream has an engine of its own, so at most one copy goes each way; the host takes no time.
class virtual_device {
 public:
  using stream = std::size_t;
  using event = std::size_t;

  explicit virtual_device(workload const& work)
      : seconds_of_{work.tiers.device.write_seconds, work.tiers.host.write_seconds, work.tiers.host.read_seconds} {}

  void spend(stream in, double seconds) noexcept { streams_[in] += seconds; }
  [[nodiscard]] double now(stream in) const noexcept { return streams_[in]; }

  [[nodiscard]] void* device_alloc(std::size_t) { return nullptr; }
  void device_free(void*) noexcept {}
  [[nodiscard]] void* pinned_alloc(std::size_t bytes) { return ::operator new(bytes); }
  void pinned_free(void* at) noexcept { ::operator delete(at); }
  [[nodiscard]] stream make_stream() {
    streams_.push_back(0);
    return streams_.size() - 1;
  }
  void destroy(stream) noexcept {}
  [[nodiscard]] event make_event() {
    events_.push_back(0);
    return events_.size() - 1;
  }
  void record(event at, stream in) noexcept { events_[at] = streams_[in]; }
  void wait(stream in, event until) noexcept {
    if (events_[until] > streams_[in]) streams_[in] = events_[until];
  }
  void sync(std::size_t) noexcept {}
  [[nodiscard]] bool done(event) const noexcept { return true; }
  void copy(void*, void const*, std::size_t, copy_kind kind, stream in) noexcept { spend(in, seconds_of_[std::size_t(kind)]); }
  [[nodiscard]] std::size_t free_bytes() const noexcept { return 0; }
  [[nodiscard]] int device() const noexcept { return 0; }

 private:
  double seconds_of_[3];  // by copy_kind
  std::vector<double> streams_, events_;
};

/// A state that takes one copy and has nothing in it.
struct virtual_state {
  static constexpr bool in_device_memory = true;
  template <class F> void visit_buffers(F&& f) { f(device_pointer<void>{}, std::size_t{1}); }
  template <class F> void visit_buffers(F&& f) const { f(device_pointer<void const>{}, std::size_t{1}); }
};

}  // namespace detail

/// Tells how many seconds a `device_sweep` takes, by doing one on a virtual clock: give it to `plan_for_device`.
///
/// It waits where the sweep waits, and copies what the sweep copies. Launches cost nothing, and copies to and from the host do not slow each
/// other down; a device with one copy engine does not keep what this promises where both go at once.
struct device_forecast {
  /// \param work  `step_seconds`, `adjoint_seconds`, `form.step`; `tiers.host` for copies of one state, `tiers.device.write_seconds` for one
  ///        within the device   Cost: some 20 ns a step and action   \throws invalid_plan, invalid_schedule   as `device_sweep::gradient`
  template <schedule Plan>
  [[nodiscard]] double operator()(Plan const& plan, device_room room, workload const& work) const {
    detail::virtual_device device{work};
    std::size_t const c = device.make_stream();
    device_sweep<detail::virtual_device, detail::virtual_state> sweep{device, c, room, [] { return detail::virtual_state{}; }};
    using state = detail::virtual_state;
    auto const none = [](state&, std::size_t) {};
    auto const seed = [](state const&, state&, std::size_t) {};
    auto const adjoint = [&](state const&, state&, step_index, std::size_t) { device.spend(c, work.adjoint_seconds); };
    state bar;
    auto const step = [&](state const&, state&, step_index, std::size_t) { device.spend(c, work.step_seconds); };
    auto const step_in_place = [&](state&, step_index, std::size_t) { device.spend(c, work.step_seconds); };
    if (work.form.step == step_form::in_place) sweep.gradient(step_in_place, none, plan, seed, adjoint, bar);
    else sweep.gradient(step, none, plan, seed, adjoint, bar);
    return device.now(c);
  }
};

}  // namespace cairn
