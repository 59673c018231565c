// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file graph.hpp  Captures what a function puts into a stream, and launches it again at the cost of one call.
#include <cairn/adapt/cuda/detail/owned_handle.hpp>
#include <cairn/adapt/cuda/runtime.hpp>

namespace cairn {
namespace detail {

template <capturing_runtime Runtime>
struct captured_work {
  typename Runtime::graph graph{};
  typename Runtime::stream stream{};
  bool launched = false;
};
struct destroy_graph {
  template <class Runtime>
  void operator()(Runtime& runtime, captured_work<Runtime> const& which) const noexcept {
    if (which.launched) drain(runtime, which.stream);
    runtime.destroy(which.graph);
  }
};

}  // namespace detail

/// Work for a device, captured into a graph: the steps of a segment, or a whole `device_sweep::gradient`. Pays if steps
/// are so short that launching them takes longer than running them; see `graph_pays`.
///
///     cairn::device_graph segment{device, compute, [&](cudaStream_t s) {
///       for (i = 0; i < 8; ++i) step(x[i % 2], x[(i + 1) % 2], i, s);
///     }};
///     for (...) segment.launch();
///
/// The graph contains the work of the device only, not what the host did in addition. Addresses, sizes, the numbers of
/// steps and all kernel arguments passed by value are frozen. The content of memory may differ from launch to launch.
/// Everything that was captured, a sweep with its frames included, must live as long as the graph is launched. Kernels
/// that have never run in this process may need to be loaded, which some drivers refuse during a capture: run the work
/// once before. One owner: moved, not copied. The destructor waits for the launches; runtime and stream must outlive
/// the graph. One thread at a time.
template <capturing_runtime Runtime>
class device_graph : detail::owned_handle<Runtime, detail::captured_work<Runtime>, detail::destroy_graph> {
 public:
  /// Calls `work(in)` once and captures what it puts into `in`, and into streams that wait for events of `in`; nothing
  /// of it runs.
  /// \param in  a stream that can be captured: not the legacy default stream
  /// \param work  lets `in` wait for all other streams that it uses, and does not allocate, free, query or wait on the
  ///   host
  /// \throws device_error   for a call that cannot be captured: thrown by that call, or, if `work` ignores errors, at
  ///   the end; and for a launch that failed, if the runtime is a `checking_runtime`
  /// \throws what `work` throws, unchanged; `in` can be used again, and nothing of the work has run   Cost: some
  ///   microseconds per kernel or copy
  template <class Work>
  device_graph(Runtime& runtime, typename Runtime::stream in, Work&& work)
      : device_graph::owned_handle{runtime, {captured(runtime, in, work), in}} {}

  /// Puts all of the work into the stream from which it was captured; when the stream is done, so is the work. The host
  /// does not wait.
  /// \throws device_error
  void launch() {
    this->runtime_->launch(this->handle_.graph, this->handle_.stream);
    this->handle_.launched = true;
  }

 private:
  template <class Work>
  [[nodiscard]] static typename Runtime::graph captured(Runtime& runtime, typename Runtime::stream in, Work& work) {
    detail::check_earlier_launches(runtime, "cairn::device_graph");
    runtime.begin_capture(in);
    try {
      work(in);
      detail::check_launches(runtime, "cairn::device_graph", "a launch of the captured work failed");
    } catch (...) {
      runtime.abandon_capture(in);
      throw;
    }
    return runtime.end_capture(in);
  }
};

}  // namespace cairn
