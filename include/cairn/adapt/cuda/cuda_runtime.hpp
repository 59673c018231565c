// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file cuda_runtime.hpp  A CUDA device, by CUDA's runtime API. Also for host compilers: link CUDA::cudart.
#include <cstddef>
#include <cuda_runtime_api.h>
#include <new>
#include <cairn/adapt/cuda/detail/device_failure.hpp>
#include <cairn/adapt/cuda/detail/touched_pages.hpp>
#include <cairn/adapt/cuda/runtime.hpp>

namespace cairn {
namespace detail {

/// What an error code means to the caller.
[[nodiscard]] inline device_failure meaning_of(cudaError_t answer) noexcept {
  switch (answer) {
    case cudaErrorInsufficientDriver:
    case cudaErrorStubLibrary:
    case cudaErrorCallRequiresNewerDriver:
    case cudaErrorSystemDriverMismatch:
    case cudaErrorCompatNotSupportedOnDevice: return device_failure::no_driver;
    case cudaErrorNoDevice: return device_failure::no_device;
    case cudaErrorInvalidDevice: return device_failure::no_such_device;
    case cudaErrorDevicesUnavailable:
    case cudaErrorDeviceAlreadyInUse:
    case cudaErrorSystemNotReady:
    case cudaErrorNotPermitted: return device_failure::busy;
    case cudaErrorMemoryAllocation: return device_failure::no_memory;
    case cudaErrorInvalidResourceHandle:
    case cudaErrorIncompatibleDriverContext: return device_failure::foreign_handle;
    case cudaErrorNoKernelImageForDevice:
    case cudaErrorInvalidDeviceFunction:
    case cudaErrorUnsupportedPtxVersion: return device_failure::no_code;
    case cudaErrorStreamCaptureUnsupported:
    case cudaErrorStreamCaptureMerge:
    case cudaErrorStreamCaptureUnmatched:
    case cudaErrorCapturedEvent:
    case cudaErrorStreamCaptureWrongThread: return device_failure::captured;
    case cudaErrorStreamCaptureInvalidated: return device_failure::capture_spoiled;
    case cudaErrorStreamCaptureUnjoined: return device_failure::capture_unjoined;
    case cudaErrorStreamCaptureIsolation: return device_failure::capture_from_outside;
    case cudaErrorStreamCaptureImplicit: return device_failure::capture_of_legacy;
    case cudaErrorECCUncorrectable:
    case cudaErrorNvlinkUncorrectable:
    case cudaErrorIllegalAddress:
    case cudaErrorLaunchTimeout:
    case cudaErrorContextIsDestroyed:
    case cudaErrorAssert:
    case cudaErrorHardwareStackError:
    case cudaErrorIllegalInstruction:
    case cudaErrorMisalignedAddress:
    case cudaErrorInvalidAddressSpace:
    case cudaErrorInvalidPc:
    case cudaErrorLaunchFailure: return device_failure::context_lost;
    default: return device_failure::other;
  }
}

/// Clears the error that the CUDA runtime remembers for this thread, so that other code does not take it for its own.
inline void forget_cuda_error() noexcept { static_cast<void>(cudaGetLastError()); }

/// A failed call with its error code.
[[nodiscard]] inline failed_call failed(char const* operation, int device, cudaError_t answer) noexcept {
  forget_cuda_error();
  return {operation, device, int(answer), cudaGetErrorName(answer)};
}

/// Whether the code means that a call, such as a kernel launch, was refused at once. False if something has not run
/// yet, or if work started earlier has failed: every later call reports that.
[[nodiscard]] inline bool is_refusal(cudaError_t answer) noexcept {
  return answer != cudaSuccess && answer != cudaErrorNotReady && meaning_of(answer) != device_failure::context_lost;
}

/// Throws unless the answer is cudaSuccess.   \throws device_error, out_of_memory
inline void need(cudaError_t answer, char const* operation, int device) {
  if (answer != cudaSuccess) refuse_call(failed(operation, device, answer), meaning_of(answer));
}

/// Makes a CUDA device current in this thread during its lifetime, and then restores the previous one. Cost: one query
/// if the device is already current.
class device_guard {
 public:
  /// \throws device_error
  device_guard(int device, char const* operation) {
    int current = -1;
    need(cudaGetDevice(&current), operation, device);
    if (current == device) return;
    need(cudaSetDevice(device), operation, device);
    before_ = current;
  }
  /// For clean-up: if the device cannot be made current, nothing changes.
  device_guard(int device, std::nothrow_t) noexcept {
    int current = -1;
    bool const known = cudaGetDevice(&current) == cudaSuccess;
    if (known && current == device) return;
    if (known && cudaSetDevice(device) == cudaSuccess) before_ = current;
    else forget_cuda_error();
  }
  device_guard(device_guard const&) = delete;
  device_guard& operator=(device_guard const&) = delete;
  ~device_guard() {
    if (before_ >= 0 && cudaSetDevice(before_) != cudaSuccess) forget_cuda_error();
  }

 private:
  int before_ = -1;  ///< to be restored, if not negative
};

}  // namespace detail

/// The `device_runtime`, `checking_runtime` and `capturing_runtime` of CUDA. Copies refer to the same device. Each call
/// makes that device current, and restores the previous one before it returns. Streams may be the user's own. The
/// legacy default stream (null) is treated like any other, ordered only by events, except that it cannot be captured.
class cuda_runtime {
 public:
  using stream = cudaStream_t;  ///< see `device_runtime`
  using event = cudaEvent_t;  ///< see `device_runtime`
  using graph = cudaGraphExec_t;  ///< see `capturing_runtime`

  /// The device that is current in this thread.   \throws device_error   if there is no driver or no device
  cuda_runtime() {
    static_cast<void>(count("cairn::cuda_runtime"));
    detail::need(cudaGetDevice(&device_), "cairn::cuda_runtime", 0);
  }
  /// \param device  its number, from 0
  /// \param pinning_threads  0: the driver allocates and pins host memory. Otherwise that many threads touch ordinary
  ///   memory first, and it is then pinned in place, which may be faster for many gigabytes. Memory must be freed by a
  ///   runtime with the same choice
  /// \throws device_error   if there is no driver, no device, or none with that number
  explicit cuda_runtime(int device, unsigned pinning_threads = 0) : device_{device}, pinning_threads_{pinning_threads} {
    int const devices = count("cairn::cuda_runtime");
    if (device < 0 || device >= devices)
      detail::refuse_call(
          {"cairn::cuda_runtime", device, int(cudaErrorInvalidDevice), cudaGetErrorName(cudaErrorInvalidDevice)},
          detail::device_failure::no_such_device);
  }

  /// The number of devices that this program can see, at least one.   \throws device_error   if there is no driver or
  /// no device
  [[nodiscard]] static int device_count() { return count("cairn::cuda_runtime::device_count"); }
  [[nodiscard]] int device() const noexcept { return device_; }  ///< its number
  /// How many copies to or from the host the device can do while kernels run: with 1, both directions share an engine.
  /// \throws device_error
  [[nodiscard]] int copy_engines() const {
    int engines = 0;
    detail::need(cudaDeviceGetAttribute(&engines, cudaDevAttrAsyncEngineCount, device_),
                 "cairn::cuda_runtime::copy_engines", device_);
    return engines;
  }
  /// Bytes of device memory that are free now, for all programs together.   \throws device_error
  [[nodiscard]] std::size_t free_bytes() const {
    detail::device_guard const current{device_, "cairn::cuda_runtime::free_bytes"};
    std::size_t free = 0, total = 0;
    detail::need(cudaMemGetInfo(&free, &total), "cairn::cuda_runtime::free_bytes", device_);
    return free;
  }

  /// \throws out_of_memory   with the bytes requested and the bytes free
  /// \throws device_error
  [[nodiscard]] void* device_alloc(std::size_t bytes) const {
    if (bytes == 0) return nullptr;
    detail::device_guard const current{device_, "cairn::cuda_runtime::device_alloc"};
    void* at = nullptr;
    cudaError_t const answer = cudaMalloc(&at, bytes);
    if (answer == cudaErrorMemoryAllocation) {
      std::size_t free = 0, total = 0;
      auto const call = detail::failed("cairn::cuda_runtime::device_alloc", device_, answer);
      if (cudaMemGetInfo(&free, &total) != cudaSuccess) detail::forget_cuda_error();
      detail::refuse_device_memory(call, bytes, free);
    }
    detail::need(answer, "cairn::cuda_runtime::device_alloc", device_);
    return at;
  }
  /// Stops the whole device.
  void device_free(void* at) const noexcept {
    if (at == nullptr) return;
    detail::device_guard const current{device_, std::nothrow};
    ignore(cudaFree(at));
  }
  /// Pinned for all devices.   \throws out_of_memory   with the bytes requested
  /// \throws device_error
  [[nodiscard]] void* pinned_alloc(std::size_t bytes) const {
    if (bytes == 0) return nullptr;
    detail::device_guard const current{device_, "cairn::cuda_runtime::pinned_alloc"};
    void* at = nullptr;
    cudaError_t answer = cudaErrorMemoryAllocation;
    if (pinning_threads_ == 0) answer = cudaHostAlloc(&at, bytes, cudaHostAllocPortable);
    else if ((at = detail::take_pages(bytes, pinning_threads_)) != nullptr) {
      answer = cudaHostRegister(at, detail::whole_pages(bytes), cudaHostRegisterPortable);
      if (answer != cudaSuccess) detail::give_pages_back(at);
    }
    if (answer == cudaErrorMemoryAllocation)
      detail::refuse_pinned_memory(detail::failed("cairn::cuda_runtime::pinned_alloc", device_, answer), bytes);
    detail::need(answer, "cairn::cuda_runtime::pinned_alloc", device_);
    return at;
  }
  /// Stops the whole device.
  void pinned_free(void* at) const noexcept {
    if (at == nullptr) return;
    detail::device_guard const current{device_, std::nothrow};
    if (pinning_threads_ == 0) return ignore(cudaFreeHost(at));
    ignore(cudaHostUnregister(at));
    detail::give_pages_back(at);
  }

  /// A stream that does not synchronise with the legacy default stream.   \throws device_error, out_of_memory
  [[nodiscard]] stream make_stream() const {
    detail::device_guard const current{device_, "cairn::cuda_runtime::make_stream"};
    stream made = nullptr;
    detail::need(cudaStreamCreateWithFlags(&made, cudaStreamNonBlocking), "cairn::cuda_runtime::make_stream", device_);
    return made;
  }
  /// See `device_runtime`.
  void destroy(stream which) const noexcept {
    if (which == nullptr) return;  // the legacy default stream has no owner
    detail::device_guard const current{device_, std::nothrow};
    ignore(cudaStreamDestroy(which));
  }
  /// An event without timing.   \throws device_error, out_of_memory
  [[nodiscard]] event make_event() const {
    detail::device_guard const current{device_, "cairn::cuda_runtime::make_event"};
    event made = nullptr;
    detail::need(cudaEventCreateWithFlags(&made, cudaEventDisableTiming), "cairn::cuda_runtime::make_event", device_);
    return made;
  }
  /// See `device_runtime`.
  void destroy(event which) const noexcept {
    if (which == nullptr) return;
    detail::device_guard const current{device_, std::nothrow};
    ignore(cudaEventDestroy(which));
  }

  /// See `device_runtime`.   \throws device_error
  void record(event which, stream in) const {
    call("cairn::cuda_runtime::record", [&] { return cudaEventRecord(which, in); });
  }
  /// See `device_runtime`.   \throws device_error
  void wait(stream which, event until) const {
    call("cairn::cuda_runtime::wait", [&] { return cudaStreamWaitEvent(which, until, 0); });
  }
  /// See `device_runtime`.   \throws device_error
  void sync(event until) const { call("cairn::cuda_runtime::sync", [&] { return cudaEventSynchronize(until); }); }
  /// See `device_runtime`.   \throws device_error
  void sync(stream all_of) const { call("cairn::cuda_runtime::sync", [&] { return cudaStreamSynchronize(all_of); }); }
  /// See `device_runtime`.   \throws device_error
  [[nodiscard]] bool done(event which) const {
    bool ready = true;
    call("cairn::cuda_runtime::done", [&] {
      cudaError_t const answer = cudaEventQuery(which);
      if (answer != cudaErrorNotReady) return answer;
      ready = false;
      detail::forget_cuda_error();  // otherwise the next call to ask for errors would get this one
      return cudaSuccess;
    });
    return ready;
  }
  /// See `device_runtime`.   \throws device_error
  void copy(void* to, void const* from, std::size_t bytes, copy_kind kind, stream in) const {
    if (bytes == 0) return;
    auto const direction = kind == copy_kind::device_to_device ? cudaMemcpyDeviceToDevice
                           : kind == copy_kind::device_to_host ? cudaMemcpyDeviceToHost
                                                               : cudaMemcpyHostToDevice;
    call("cairn::cuda_runtime::copy", [&] { return cudaMemcpyAsync(to, from, bytes, direction, in); });
  }

  /// See `zeroing_runtime`.   \throws device_error
  void zero(void* to, std::size_t bytes, stream in) const {
    if (bytes == 0) return;
    call("cairn::cuda_runtime::zero", [&] { return cudaMemsetAsync(to, 0, bytes, in); });
  }

  /// See `checking_runtime`. Forgets the error that it reports: cudaGetLastError() then returns cudaSuccess. Cost:
  /// nanoseconds
  /// \throws device_error, out_of_memory
  void check() const {
    if (cudaError_t const last = cudaPeekAtLastError(); detail::is_refusal(last))
      detail::need(last, "cairn::cuda_runtime::check", device_);
  }
  /// Throws unless a program's own call of CUDA has succeeded. Forgets the error, too.
  /// \param operation  who made the call   \throws device_error, out_of_memory
  static void check(cudaError_t answer, char const* operation, int device = 0) {
    detail::need(answer, operation, device);
  }

  /// See `capturing_runtime`. Other threads may use the device in the meantime.   \throws device_error   also for the
  /// legacy default stream
  void begin_capture(stream in) const {
    detail::device_guard const current{device_, "cairn::cuda_runtime::begin_capture"};
    cudaError_t const answer = cudaStreamBeginCapture(in, cudaStreamCaptureModeThreadLocal);
    if (answer == cudaErrorStreamCaptureUnsupported || answer == cudaErrorStreamCaptureImplicit ||
        answer == cudaErrorIllegalState)
      detail::refuse_call(detail::failed("cairn::cuda_runtime::begin_capture", device_, answer),
                          detail::device_failure::not_capturable);
    detail::need(answer, "cairn::cuda_runtime::begin_capture", device_);
  }
  /// See `capturing_runtime`. Cost: some microseconds per kernel or copy.   \throws device_error, out_of_memory
  [[nodiscard]] graph end_capture(stream in) const {
    detail::device_guard const current{device_, std::nothrow};  // the capture must end in any case
    cudaGraph_t drawn = nullptr;
    cudaError_t answer = cudaStreamEndCapture(in, &drawn);
    if (answer == cudaSuccess && drawn == nullptr) answer = cudaErrorStreamCaptureInvalidated;
    graph made = nullptr;
    if (answer == cudaSuccess) answer = cudaGraphInstantiateWithFlags(&made, drawn, 0);
    forget(drawn);
    detail::need(answer, "cairn::cuda_runtime::end_capture", device_);
    return made;
  }
  /// See `capturing_runtime`.
  void abandon_capture(stream in) const noexcept {
    detail::device_guard const current{device_, std::nothrow};
    cudaGraph_t drawn = nullptr;
    ignore(cudaStreamEndCapture(in, &drawn));
    forget(drawn);
  }
  /// See `capturing_runtime`.   \throws device_error
  void launch(graph which, stream in) const {
    call("cairn::cuda_runtime::launch", [&] { return cudaGraphLaunch(which, in); });
  }
  /// See `capturing_runtime`.
  void destroy(graph which) const noexcept {
    if (which == nullptr) return;
    detail::device_guard const current{device_, std::nothrow};
    ignore(cudaGraphExecDestroy(which));
  }

 private:
  static int count(char const* operation) {
    int devices = 0;
    cudaError_t const answer = cudaGetDeviceCount(&devices);
    detail::need(answer == cudaSuccess && devices == 0 ? cudaErrorNoDevice : answer, operation, 0);
    return devices;
  }
  template <class Call>
  void call(char const* operation, Call what) const {
    detail::device_guard const current{device_, operation};
    detail::need(what(), operation, device_);
  }
  /// Clean-up ignores errors: at the end of the process the driver may be gone, and after an error the context.
  static void ignore(cudaError_t answer) noexcept {
    if (answer != cudaSuccess) detail::forget_cuda_error();
  }

  /// Destroys the graph from which an executable graph was made, if there is one.
  static void forget(cudaGraph_t drawn) noexcept {
    if (drawn != nullptr) ignore(cudaGraphDestroy(drawn));
  }

  int device_ = 0;
  unsigned pinning_threads_ = 0;  ///< 0: the driver does it
};
static_assert(capturing_runtime<cuda_runtime> && checking_runtime<cuda_runtime> && zeroing_runtime<cuda_runtime>);

}  // namespace cairn
