// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file owned_handle.hpp  A stream, an event, a graph or memory of a device, with one owner.
#include <utility>
#include <cairn/adapt/cuda/runtime.hpp>

namespace cairn::detail {

/// Waits until the stream is done, and ignores errors: for clean-up.
template <device_runtime Runtime>
void drain(Runtime& runtime, typename Runtime::stream which) noexcept {
  try {
    runtime.sync(which);
  } catch (...) {  // the device's context is lost: nothing runs any more
  }
}

/// A handle of a runtime with one owner: moved, not copied. The runtime must outlive it. `End{}(runtime, handle)` gives
/// the handle back.
template <device_runtime Runtime, class Handle, class End>
class owned_handle {
 public:
  owned_handle() = default;
  owned_handle(Runtime& runtime, Handle handle) noexcept : runtime_{&runtime}, handle_{handle} {}
  owned_handle(owned_handle&& other) noexcept
      : runtime_{std::exchange(other.runtime_, nullptr)}, handle_{std::exchange(other.handle_, Handle{})} {}
  owned_handle& operator=(owned_handle&& other) noexcept {
    owned_handle taken{std::move(other)};
    std::swap(runtime_, taken.runtime_);
    std::swap(handle_, taken.handle_);
    return *this;
  }
  ~owned_handle() {
    if (runtime_ != nullptr) End{}(*runtime_, handle_);
  }

 protected:
  Runtime* runtime_ = nullptr;
  Handle handle_{};
};

struct destroy_event {
  template <class Runtime>
  void operator()(Runtime& runtime, typename Runtime::event which) const noexcept { runtime.destroy(which); }
};

/// An event with one owner: moved, not copied. The runtime must outlive it. Before it is destroyed, the streams that
/// use it must be done.
template <device_runtime Runtime>
class owned_event : owned_handle<Runtime, typename Runtime::event, destroy_event> {
 public:
  owned_event() = default;
  /// Makes one.   \throws device_error, out_of_memory
  explicit owned_event(Runtime& runtime) : owned_event::owned_handle{runtime, runtime.make_event()} {}

  [[nodiscard]] typename Runtime::event get() const noexcept { return this->handle_; }  ///< the handle
};

}  // namespace cairn::detail
