#pragma once
/// \file owned_stream.hpp  A stream with an owner.
#include <utility>
#include <cairn/adapt/cuda/runtime.hpp>

namespace cairn {

/// A stream with one owner: moved, not copied. The runtime must outlive it.
template <device_runtime R>
class owned_stream {
 public:
  owned_stream() = default;
  /// Makes one.   \throws device_error, out_of_memory
  explicit owned_stream(R& runtime) : runtime_{&runtime}, stream_{runtime.make_stream()} {}
  /// Takes it over; the other owns nothing then.
  owned_stream(owned_stream&& other) noexcept
      : runtime_{std::exchange(other.runtime_, nullptr)}, stream_{other.stream_} {}
  /// Takes it over, and gives up what it had.
  owned_stream& operator=(owned_stream other) noexcept {
    std::swap(runtime_, other.runtime_);
    std::swap(stream_, other.stream_);
    return *this;
  }
  /// Waits for what is in it, so that nothing runs on in memory that is freed next; what fails then is not told.
  ~owned_stream() {
    if (runtime_ == nullptr) return;
    drain();
    runtime_->destroy(stream_);
  }

  [[nodiscard]] typename R::stream get() const noexcept { return stream_; }  ///< the handle
  /// Waits for what is in it; what fails is not told. For clean-up: `R::sync` says what failed.
  void drain() const noexcept {
    if (runtime_ == nullptr) return;
    try {
      runtime_->sync(stream_);
    } catch (...) {  // the device's context is lost: nothing runs any more
    }
  }

 private:
  R* runtime_ = nullptr;
  typename R::stream stream_{};
};

}  // namespace cairn
