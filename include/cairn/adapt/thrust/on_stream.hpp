// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file on_stream.hpp  Chooses the stream on which a sweep copies states.
#include <cairn/adapt/thrust/detail/device_copies.hpp>

namespace cairn {

/// During its lifetime, states that this thread copies are copied on one stream, in order with the steps there and
/// without waiting. Make one before a sweep whose steps run on a stream of their own or by thrust::cuda::par_nosync,
/// and keep it as long as the sweep, or a kept run, is used; the innermost one applies. Without one, copies are correct
/// whatever streams the steps use, but each waits for the whole device. Has no effect for Thrust's CPP, OMP and TBB
/// systems, whose algorithms are done when they return.
class on_stream {
 public:
  /// \param where  a Thrust policy, such as thrust::cuda::par_nosync.on(stream); on CUDA also a stream, or an object
  ///   whose get() returns one
  template <class Where>
  explicit on_stream(Where const& where) : before_{detail::copies_of_states()} {
    constexpr bool known = detail::device_copies::can_follow<Where>;
    static_assert(known,
                  "cairn: on_stream takes a Thrust policy, such as thrust::cuda::par_nosync.on(stream); with Thrust's "
                  "CUDA system also a cudaStream_t, or an object whose get() gives one");
    if constexpr (known) detail::copies_of_states() = detail::device_copies{where};
  }
  on_stream(on_stream const&) = delete;
  on_stream& operator=(on_stream const&) = delete;
  ~on_stream() { detail::copies_of_states() = before_; }  ///< restores the previous choice

 private:
  detail::device_copies before_;
};

}  // namespace cairn
