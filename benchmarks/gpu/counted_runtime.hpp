// SPDX-License-Identifier: Apache-2.0
#pragma once
// A runtime that counts what is asked of it, and that can leave out or wait for the copies between device and host.
#include <cstddef>
#include <cstdint>
#include <cairn/adapt/cuda/runtime.hpp>
#include "deadline.hpp"

namespace gpu {

/// What was asked of a runtime since it was made.
struct call_counts {
  std::uint64_t allocations = 0;  ///< device and pinned memory, streams and events, made or given back
  std::uint64_t syncs = 0;        ///< waits of the host
  std::uint64_t copies = 0;       ///< between device and host, both ways
  std::uint64_t bytes_within = 0, bytes_down = 0, bytes_up = 0;

  [[nodiscard]] call_counts since(call_counts const& before) const {
    return {allocations - before.allocations,   syncs - before.syncs,           copies - before.copies,
            bytes_within - before.bytes_within, bytes_down - before.bytes_down, bytes_up - before.bytes_up};
  }
};

/// How copies between device and host are done.
enum class host_copies : std::uint8_t {
  on_the_side,  ///< as they are asked for
  left_out,     ///< not at all: what a sweep takes if they cost nothing. Its gradient is wrong
  waited_for    ///< the host waits for the steps before each, and for the copy: what the simplest program does
};

/// Wraps `R`, which must outlive it.
template <cairn::device_runtime R>
class counted_runtime {
 public:
  using stream = typename R::stream;
  using event = typename R::event;

  /// \param until  after it nothing more is pinned, but `time_is_up` thrown
  explicit counted_runtime(R& inner, stream compute, host_copies how = host_copies::on_the_side,
                           deadline const* until = nullptr)
      : inner_{&inner}, compute_{compute}, how_{how}, until_{until} {}

  [[nodiscard]] call_counts const& counts() const noexcept { return counts_; }

  [[nodiscard]] void* device_alloc(std::size_t bytes) { return ++counts_.allocations, inner_->device_alloc(bytes); }
  void device_free(void* at) noexcept { ++counts_.allocations, inner_->device_free(at); }
  [[nodiscard]] void* pinned_alloc(std::size_t bytes) {
    if (until_ != nullptr) until_->check();
    return ++counts_.allocations, inner_->pinned_alloc(bytes);
  }
  void pinned_free(void* at) noexcept { ++counts_.allocations, inner_->pinned_free(at); }
  [[nodiscard]] stream make_stream() { return ++counts_.allocations, inner_->make_stream(); }
  [[nodiscard]] event make_event() { return ++counts_.allocations, inner_->make_event(); }
  template <class Handle>
  void destroy(Handle which) noexcept { ++counts_.allocations, inner_->destroy(which); }
  void record(event at, stream in) { inner_->record(at, in); }
  void wait(stream in, event until) { inner_->wait(in, until); }
  template <class Handle>
  void sync(Handle until) { ++counts_.syncs, inner_->sync(until); }
  [[nodiscard]] bool done(event which) { return inner_->done(which); }
  void copy(void* to, void const* from, std::size_t bytes, cairn::copy_kind kind, stream in) {
    if (kind == cairn::copy_kind::device_to_device) {
      counts_.bytes_within += bytes;
      return inner_->copy(to, from, bytes, kind, in);
    }
    ++counts_.copies;
    (kind == cairn::copy_kind::device_to_host ? counts_.bytes_down : counts_.bytes_up) += bytes;
    if (how_ == host_copies::left_out) return;
    if (how_ == host_copies::waited_for) sync(compute_);
    inner_->copy(to, from, bytes, kind, in);
    if (how_ == host_copies::waited_for) sync(in);
  }
  void check()
    requires cairn::checking_runtime<R>
  { inner_->check(); }
  [[nodiscard]] std::size_t free_bytes() { return inner_->free_bytes(); }
  [[nodiscard]] int device() const { return inner_->device(); }

 private:
  R* inner_;
  stream compute_;
  host_copies how_;
  deadline const* until_;
  call_counts counts_;
};

}  // namespace gpu
