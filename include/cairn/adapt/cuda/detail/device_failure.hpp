// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file device_failure.hpp  What can go wrong with a device, and the exceptions for it. Contains no CUDA, so that
/// every runtime reports the same.
#include <cstddef>
#include <cstdint>
#include <cairn/core/detail/text.hpp>
#include <cairn/core/error.hpp>

namespace cairn::detail {

/// What a runtime's error code means to the caller.
enum class device_failure : std::uint8_t {
  no_driver,
  no_device,
  no_such_device,
  busy,
  no_memory,
  foreign_handle,
  no_code,
  captured,
  not_capturable,
  capture_spoiled,
  capture_unjoined,
  capture_from_outside,
  capture_of_legacy,
  context_lost,
  other
};

/// A failed call of a runtime.
struct failed_call {
  char const* operation = "";  ///< the public name that refuses, with static storage
  int device = 0;  ///< the device that was called
  int code = 0;  ///< the runtime's error code
  char const* name = "";  ///< name of the code
};

/// What to do about a call that failed, after CUDA's name of the error.
[[nodiscard]] inline text<300> advice_on(failed_call const& call, char const* advice) {
  text<300> said;
  return said.add(call.name).add(": ").add(advice);
}
[[noreturn]] inline void refuse_call(failed_call const& call, char const* problem, char const* advice) {
  throw device_error{
      call.operation, problem, {{"device", call.device}, {"code", call.code}}, advice_on(call, advice).c_str()};
}
/// Throws the exception for a failed call.
[[noreturn]] inline void refuse_call(failed_call const& call, device_failure why) {
  switch (why) {
    case device_failure::no_driver:
      throw device_error{
          call.operation, "the CUDA driver is missing, or older than the CUDA runtime of this program",
          {{"code", call.code}},
          advice_on(call,
                    "install or update the NVIDIA driver (nvidia-smi shows it), or keep the states in host memory")
              .c_str()};
    case device_failure::no_device:
      throw device_error{
          call.operation, "the machine has no CUDA device that this program may see", {{"code", call.code}},
          advice_on(call, "look at nvidia-smi and CUDA_VISIBLE_DEVICES, or keep the states in host memory").c_str()};
    case device_failure::no_such_device:
      refuse_call(call, "there is no device of that number",
                  "devices are counted from 0, and CUDA_VISIBLE_DEVICES may hide some");
    case device_failure::busy:
      refuse_call(call, "the device is not available now",
                  "another program holds it, or its mode forbids it: look at nvidia-smi");
    case device_failure::no_memory:
      throw out_of_memory{call.operation, "the device or its driver has no memory left for this call",
                          {{"device", call.device}, {"code", call.code}},
                          advice_on(call, "leave some memory free: a budget of 90%, or fewer slots").c_str()};
    case device_failure::foreign_handle:
      refuse_call(call, "a stream or an event is not, or no longer, one of this device",
                  "make the runtime on the device of the stream, and keep the stream as long as the sweep");
    case device_failure::no_code:
      refuse_call(call, "the program holds no code for this device",
                  "compile for its architecture, for example nvcc -arch=native");
    case device_failure::captured:
      refuse_call(
          call, "a call that a stream does not allow while it is captured into a graph",
          "neither allocate nor wait on the host within the captured steps, and capture on a stream of your own");
    case device_failure::not_capturable:
      refuse_call(call, "the stream cannot be captured into a graph",
                  "give a stream of your own that is not captured already: the legacy default stream never can be");
    case device_failure::capture_spoiled:
      refuse_call(call, "an earlier call was refused while the stream was captured, so that there is no graph",
                  "find what allocates, frees, queries or waits on the host among the captured calls, and keep it out");
    case device_failure::capture_unjoined:
      refuse_call(call, "work was captured in a second stream that the captured one does not wait for",
                  "let the captured stream wait for an event after the last work of every other one");
    case device_failure::capture_from_outside:
      refuse_call(call, "a stream that is captured into a graph cannot wait for work that is not",
                  "record within the captured calls what they wait for");
    case device_failure::capture_of_legacy:
      refuse_call(call, "the legacy default stream was used while a stream was captured into a graph",
                  "put the work of a captured step into the stream that it is given");
    case device_failure::context_lost:
      refuse_call(call, "a kernel or copy that was started earlier failed, and the device's context is lost",
                  "every later call on the device fails: end the process, and find the kernel with compute-sanitizer");
    case device_failure::other: break;
  }
  throw device_error{call.operation, "a call of the device's runtime failed",
                     {{"device", call.device}, {"code", call.code}}, call.name};
}

/// Throws the exception for device memory that could not be allocated.
[[noreturn]] inline void refuse_device_memory(failed_call const& call, std::size_t asked, std::size_t free) {
  throw out_of_memory{call.operation, "the device has less memory free than was asked for",
                      {{"bytes asked", asked}, {"bytes free", free}, {"device", call.device}, {"code", call.code}},
                      "give a smaller budget or fewer slots on the device, or let states go to the host"};
}
/// Throws the exception for host memory that could not be pinned.
[[noreturn]] inline void refuse_pinned_memory(failed_call const& call, std::size_t asked) {
  throw out_of_memory{
      call.operation,
      "that much host memory cannot be pinned",
      {{"bytes asked", asked}, {"device", call.device}, {"code", call.code}},
      "keep fewer slots on the host, or raise what may be pinned: free memory, the container's limit, ulimit -l"};
}

}  // namespace cairn::detail
