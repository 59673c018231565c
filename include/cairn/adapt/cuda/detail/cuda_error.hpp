// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file cuda_error.hpp  Converts error codes of the CUDA runtime to exceptions. The only header that includes CUDA's
/// own host header.
#include <cuda_runtime_api.h>
#include <cairn/adapt/cuda/detail/device_failure.hpp>

namespace cairn::detail {

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

}  // namespace cairn::detail
