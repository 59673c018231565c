// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file owned_event.hpp  An event with an owner.
#include <cairn/adapt/cuda/detail/owned_handle.hpp>
#include <cairn/adapt/cuda/runtime.hpp>

namespace cairn::detail {

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
