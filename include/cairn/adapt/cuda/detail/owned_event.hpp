// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file owned_event.hpp  An event with an owner.
#include <utility>
#include <cairn/adapt/cuda/runtime.hpp>

namespace cairn::detail {

/// An event with one owner: moved, not copied. The runtime must outlive it. Before it is destroyed, the streams that
/// use it must be done.
template <device_runtime R>
class owned_event {
 public:
  owned_event() = default;
  /// Makes one.   \throws device_error, out_of_memory
  explicit owned_event(R& runtime) : runtime_{&runtime}, event_{runtime.make_event()} {}
  /// Takes over the event; the other object then owns nothing.
  owned_event(owned_event&& other) noexcept : runtime_{std::exchange(other.runtime_, nullptr)}, event_{other.event_} {}
  /// Takes over the event, and destroys its own.
  owned_event& operator=(owned_event other) noexcept {
    std::swap(runtime_, other.runtime_);
    std::swap(event_, other.event_);
    return *this;
  }
  ~owned_event() {
    if (runtime_ != nullptr) runtime_->destroy(event_);
  }

  [[nodiscard]] typename R::event get() const noexcept { return event_; }  ///< the handle

 private:
  R* runtime_ = nullptr;
  typename R::event event_{};
};

}  // namespace cairn::detail
