#pragma once
/// \file on_stream.hpp  The stream on which a sweep copies states of its own accord.
#include <cairn/adapt/thrust/detail/device_copies.hpp>

namespace cairn {

/// As long as it lives, states that this thread copies are copied on one stream, in order with the steps that run
/// there, and nobody waits for the copy. Make one before a sweep whose steps run on a stream of their own or by
/// thrust::cuda::par_nosync, and keep it as long as the sweep, or a run that is kept, is used; the innermost one
/// counts. Without one, copies are right whatever streams the steps use, but each waits for all of the device.
/// Means nothing to Thrust's CPP, OMP and TBB systems, whose algorithms have ended when they return.
class on_stream {
 public:
  /// \param where  a Thrust policy, as thrust::cuda::par_nosync.on(stream); on CUDA also a stream, or an object whose
  ///        get() gives one
  template <class Where>
  explicit on_stream(Where const& where) : before_{detail::copies_of_states()} {
    constexpr bool known = detail::device_copies::can_follow<Where>;
    static_assert(known,
                  "cairn: on_stream takes a Thrust policy, as thrust::cuda::par_nosync.on(stream); with Thrust's CUDA "
                  "system also a cudaStream_t, or an object whose get() gives one");
    if constexpr (known) detail::copies_of_states() = detail::device_copies{where};
  }
  on_stream(on_stream const&) = delete;
  on_stream& operator=(on_stream const&) = delete;
  ~on_stream() { detail::copies_of_states() = before_; }  ///< what was said before counts again

 private:
  detail::device_copies before_;
};

}  // namespace cairn
