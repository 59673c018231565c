#pragma once
/// \file runtime.hpp  What states on a device ask of it: memory, streams, events and copies, as a policy. No CUDA here.
#include <concepts>
#include <cstddef>
#include <cstdint>

namespace cairn {

/// Between which memories a copy goes; host memory is pinned.
enum class copy_kind : std::uint8_t { device_to_device, device_to_host, host_to_device };

/// One device, as a policy: `cuda_runtime` is the real one.
///
/// A *stream* is a queue: what is put into it runs in that order, and in no order with other streams and the host but
/// the one that events make. A *stream* and an *event* are handles, copied freely; the runtime object must outlive them
/// and may be used by one thread at a time. An *event* stands for one place in one stream, the latest it was recorded
/// at.
///
/// | call | returns | what it orders |
/// |---|---|---|
/// | `device_alloc(n)`, `pinned_alloc(n)` | at least `n` bytes, 256 and 64 byte aligned; null for 0 | may stop the whole device: never within a sweep |
/// | `device_free(p)`, `pinned_free(p)` | | nothing may use the memory any more: sync first. Null is fine |
/// | `make_stream()` | a stream that waits for no other, the legacy one neither | |
/// | `destroy(stream)`, `destroy(event)` | | all that was put into the stream, and the event's record and waits, must be known to be done |
/// | `record(e, s)` | | `e` is behind all that is in `s` now; waits that were put before keep to what it stood for then |
/// | `wait(s, e)` | | all that is put into `s` from now on runs after what `e` stands for now. The host does not wait. An event never recorded is no wait |
/// | `sync(e)`, `sync(s)` | | the host waits for what `e` stands for, for all that is in `s` now. An event never recorded is no wait |
/// | `done(e)` | whether what `e` stands for has run; true for an event never recorded | where true, as `sync(e)` |
/// | `copy(to, from, n, kind, s)` | | is put into `s`; both must live and keep still until it has run. Nothing for `n` = 0 |
/// | `free_bytes()` | bytes of device memory that are free now | |
/// | `device()` | the number of the device | |
///
/// Errors: `device_error`, and `out_of_memory` where memory runs out; a call that throws has done nothing. What goes
/// wrong on the device later is thrown by a later call: then the device's context is lost, and every call throws from
/// there on. Frees and destroys never throw. Calls leave the device that is current in the thread as they found it.
template <class R>
concept device_runtime = std::copyable<typename R::stream> && std::copyable<typename R::event> &&
    requires(R& runtime, typename R::stream stream, typename R::event event, void* to, void const* from,
             std::size_t bytes, copy_kind kind) {
  { runtime.device_alloc(bytes) } -> std::same_as<void*>;
  { runtime.device_free(to) }
  noexcept;
  { runtime.pinned_alloc(bytes) } -> std::same_as<void*>;
  { runtime.pinned_free(to) }
  noexcept;
  { runtime.make_stream() } -> std::same_as<typename R::stream>;
  { runtime.destroy(stream) }
  noexcept;
  { runtime.make_event() } -> std::same_as<typename R::event>;
  { runtime.destroy(event) }
  noexcept;
  runtime.record(event, stream);
  runtime.wait(stream, event);
  runtime.sync(event);
  runtime.sync(stream);
  { runtime.done(event) } -> std::same_as<bool>;
  runtime.copy(to, from, bytes, kind, stream);
  { runtime.free_bytes() } -> std::same_as<std::size_t>;
  { runtime.device() } -> std::same_as<int>;
};

/// A device that tells of launches which failed, though whoever made them did not look: `kernel<<<...>>>` answers
/// nothing. Optional.
///
/// | call | what it does |
/// |---|---|
/// | `check()` | throws where something that this thread put into a stream, since the last check that threw, was refused at once: compiled for another device, or with too many threads a block. Allowed within a capture, and never waits |
///
/// What fails later, while it runs, is not asked for: later calls tell.
template <class R>
concept checking_runtime = device_runtime<R> && requires(R& runtime) { runtime.check(); };

/// A device whose streams can be captured into graphs. A *graph* is a handle like the others.
///
/// | call | returns | what it does |
/// |---|---|---|
/// | `begin_capture(s)` | | what is put into `s` from now on, and into streams that wait for an event of it, is written down and does not run |
/// | `end_capture(s)` | the graph, ready to launch | all streams are as they were before, and they are where it throws, too |
/// | `abandon_capture(s)` | | the same without a graph; nothing where `s` is not captured |
/// | `launch(g, s)` | | puts all of the graph into `s`, ordered within as it was captured, and behind its own launch before |
/// | `destroy(g)` | | all launches must be known to be done |
///
/// Meanwhile this thread may not allocate, free, sync or query, nor wait in a captured stream for an event from before;
/// and the end of the capture must be behind all that was captured. Each is a `device_error`, of the call or of
/// `end_capture`.
template <class R>
concept capturing_runtime = device_runtime<R> && std::copyable<typename R::graph> &&
    requires(R& runtime, typename R::stream stream, typename R::graph graph) {
      runtime.begin_capture(stream);
      { runtime.end_capture(stream) } -> std::same_as<typename R::graph>;
      { runtime.abandon_capture(stream) } noexcept;
      runtime.launch(graph, stream);
      { runtime.destroy(graph) } noexcept;
    };

}  // namespace cairn
