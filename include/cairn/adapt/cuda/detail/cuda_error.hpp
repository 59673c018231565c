#pragma once
/// \file cuda_error.hpp  Answers of the CUDA runtime as errors. The one place that includes CUDA's own header of the
/// host.
#include <cuda_runtime_api.h>
#include <cairn/adapt/cuda/detail/device_failure.hpp>

namespace cairn::detail {

/// What an answer other than cudaSuccess means to who called.
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

/// Forgets the error that the CUDA runtime remembers for this thread, so that nobody else takes it for his own.
inline void forget_cuda_error() noexcept { static_cast<void>(cudaGetLastError()); }

/// An answer, as a call that failed.
[[nodiscard]] inline failed_call failed(char const* operation, int device, cudaError_t answer) noexcept {
  forget_cuda_error();
  return {operation, device, int(answer), cudaGetErrorName(answer)};
}

/// Whether the answer means that a call, the launch of a kernel for one, was refused at once. Not so where something
/// has not run yet, or where what was started earlier failed: every later call tells of that.
[[nodiscard]] inline bool is_refusal(cudaError_t answer) noexcept {
  return answer != cudaSuccess && answer != cudaErrorNotReady && meaning_of(answer) != device_failure::context_lost;
}

/// Throws unless the answer is cudaSuccess.   \throws device_error, out_of_memory
inline void need(cudaError_t answer, char const* operation, int device) {
  if (answer != cudaSuccess) refuse_call(failed(operation, device, answer), meaning_of(answer));
}

}  // namespace cairn::detail
