// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file runtime.hpp  The policy of a device: memory, streams, events and copies. Contains no CUDA.
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cairn/core/error.hpp>

namespace cairn {

/// The direction of a copy; host memory is pinned.
enum class copy_kind : std::uint8_t { device_to_device, device_to_host, host_to_device };

/// One device, as a policy: `cuda_runtime` is the real one.
///
/// A *stream* is a queue: its operations run in order; relative to other streams and the host, only events order them.
/// An *event* stands for one position in one stream, the latest at which it was recorded. Both are handles and can be
/// copied freely; the runtime object must outlive them and may be used by one thread at a time.
/// - `device_alloc(n)`, `pinned_alloc(n)` return at least `n` bytes, 256 and 64 byte aligned; null for 0. They may stop
///   the whole device: never call them during a sweep
/// - `device_free(p)`, `pinned_free(p)`: nothing may use the memory any more, so sync first. Null is allowed
/// - `make_stream()` returns a stream that waits for no other, not even for the legacy stream
/// - `destroy(stream)`, `destroy(event)`: everything in the stream, and the event's record and waits, must be known to
///   be done
/// - `record(e, s)`: `e` stands for the present end of `s`; earlier waits still refer to the earlier position
/// - `wait(s, e)`: everything put into `s` from now on runs after the present position of `e`. The host does not wait.
///   An event that was never recorded causes no wait
/// - `sync(e)`, `sync(s)`: the host waits for the position of `e`, or for everything in `s`. An event that was never
///   recorded causes no wait
/// - `done(e)` returns whether the position of `e` has been reached; true for an event that was never recorded. If
///   true, it orders as `sync(e)` does
/// - `copy(to, from, n, kind, s)`: puts a copy into `s`; both must exist and not change until it has run. Does nothing
///   for `n` = 0
/// - `free_bytes()` returns the bytes of device memory that are free now
/// - `device()` returns the number of the device
///
/// Errors: `device_error`, and `out_of_memory` if memory runs out; a call that throws has done nothing. Errors that
/// occur later on the device are thrown by a later call; the device's context is then lost, and every later call
/// throws. Frees and destroys never throw. Calls do not change which device is current in the thread.
template <class Runtime>
concept device_runtime = std::copyable<typename Runtime::stream> && std::copyable<typename Runtime::event> &&
    requires(Runtime& runtime, typename Runtime::stream stream, typename Runtime::event event, void* to,
             void const* from, std::size_t bytes, copy_kind kind) {
  { runtime.device_alloc(bytes) } -> std::same_as<void*>;
  { runtime.device_free(to) }
  noexcept;
  { runtime.pinned_alloc(bytes) } -> std::same_as<void*>;
  { runtime.pinned_free(to) }
  noexcept;
  { runtime.make_stream() } -> std::same_as<typename Runtime::stream>;
  { runtime.destroy(stream) }
  noexcept;
  { runtime.make_event() } -> std::same_as<typename Runtime::event>;
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

/// A device that reports failed launches even if the caller did not check: `kernel<<<...>>>` returns nothing. Optional.
/// - `check()` throws if something that this thread put into a stream since the last check that threw was refused at
///   once: compiled for another device, or with too many threads per block. Allowed during a capture, and never waits
///
/// It does not report work that fails later, while it runs: later calls do.
template <class Runtime>
concept checking_runtime = device_runtime<Runtime> && requires(Runtime& runtime) { runtime.check(); };

/// A device that can set memory to zero. Optional: the gradient of `wrt{p, dp}` needs it.
/// - `zero(to, n, s)`: puts into `s` that the `n` bytes of device memory at `to` become 0. Does nothing for `n` = 0
template <class Runtime>
concept zeroing_runtime = device_runtime<Runtime> &&
    requires(Runtime& runtime, typename Runtime::stream stream, void* to, std::size_t bytes) {
      runtime.zero(to, bytes, stream);
    };

/// A device whose streams can be captured into graphs. A *graph* is a handle like the others.
/// - `begin_capture(s)`: everything put into `s` from now on, and into streams that wait for an event of it, is
///   recorded and does not run
/// - `end_capture(s)` returns the graph, ready to launch; all streams are as they were before, even if it throws
/// - `abandon_capture(s)`: the same without a graph; does nothing if `s` is not being captured
/// - `launch(g, s)`: puts the whole graph into `s`, ordered inside as it was captured, and after its own previous
///   launch
/// - `destroy(g)`: all launches must be known to be done
///
/// During a capture this thread may not allocate, free, sync or query, nor let a captured stream wait for an earlier
/// event; and everything captured must be joined before the end of the capture. Each of these is a `device_error`,
/// thrown by the call or by `end_capture`.
template <class Runtime>
concept capturing_runtime = device_runtime<Runtime> && std::copyable<typename Runtime::graph> &&
    requires(Runtime& runtime, typename Runtime::stream stream, typename Runtime::graph graph) {
      runtime.begin_capture(stream);
      { runtime.end_capture(stream) } -> std::same_as<typename Runtime::graph>;
      { runtime.abandon_capture(stream) } noexcept;
      runtime.launch(graph, stream);
      { runtime.destroy(graph) } noexcept;
    };

namespace detail {

/// To be called after a user's function: throws if something that it put into a stream was refused. Does nothing if the
/// runtime cannot tell.
/// \param where  named values that identify the call of the function
template <device_runtime Runtime, class... Where>
void check_launches([[maybe_unused]] Runtime& runtime, [[maybe_unused]] char const* operation,
                    [[maybe_unused]] char const* problem, [[maybe_unused]] Where... where) {
  if constexpr (checking_runtime<Runtime>) try {
      runtime.check();
    } catch (error const& refused) {
      if (refused.value_count() < 2) throw device_error{operation, problem, {where...}, refused.what()};
      throw device_error{operation, problem, {where..., refused.value(0), refused.value(1)}, refused.advice()};
    }
}
/// The same, called before the user's first function, so that it is not blamed for earlier launches.
template <device_runtime Runtime>
void check_earlier_launches(Runtime& runtime, char const* operation) {
  check_launches(runtime, operation, "a launch before this call failed, and its error was never read");
}

}  // namespace detail

}  // namespace cairn
