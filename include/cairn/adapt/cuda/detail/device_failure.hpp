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

/// Throws the exception for a failed call. One function: a list of sentences, one for each cause.
[[noreturn]] inline void refuse_call(failed_call const& call, device_failure why) {
  auto const advice = [&](char const* what) {
    text<300> said;
    return said.add(call.name).add(": ").add(what);
  };
  switch (why) {
    case device_failure::no_driver:
      throw device_error{
          call.operation,
          "the CUDA driver is missing, or older than the CUDA runtime of this program",
          {{"code", call.code}},
          advice("install or update the NVIDIA driver (nvidia-smi shows it), or keep the states in host memory")
              .c_str()};
    case device_failure::no_device:
      throw device_error{
          call.operation,
          "the machine has no CUDA device that this program may see",
          {{"code", call.code}},
          advice("look at nvidia-smi and CUDA_VISIBLE_DEVICES, or keep the states in host memory").c_str()};
    case device_failure::no_such_device:
      throw device_error{call.operation,
                         "there is no device of that number",
                         {{"device", call.device}, {"code", call.code}},
                         advice("devices are counted from 0, and CUDA_VISIBLE_DEVICES may hide some").c_str()};
    case device_failure::busy:
      throw device_error{call.operation,
                         "the device is not to be had now",
                         {{"device", call.device}, {"code", call.code}},
                         advice("another program holds it, or its mode forbids it: look at nvidia-smi").c_str()};
    case device_failure::no_memory:
      throw out_of_memory{call.operation, "the device or its driver has no memory left for this call",
                          {{"device", call.device}, {"code", call.code}},
                          advice("leave some memory free: a budget of 90%, or fewer slots").c_str()};
    case device_failure::foreign_handle:
      throw device_error{
          call.operation,
          "a stream or an event is not, or no longer, one of this device",
          {{"device", call.device}, {"code", call.code}},
          advice("make the runtime on the device of the stream, and keep the stream as long as the sweep").c_str()};
    case device_failure::no_code:
      throw device_error{call.operation,
                         "the program holds no code for this device",
                         {{"device", call.device}, {"code", call.code}},
                         advice("compile for its architecture, for example nvcc -arch=native").c_str()};
    case device_failure::captured:
      throw device_error{
          call.operation,
          "a call that a stream does not allow while it is captured into a graph",
          {{"device", call.device}, {"code", call.code}},
          advice("neither allocate nor wait on the host within the captured steps, and capture on a stream of your own")
              .c_str()};
    case device_failure::not_capturable:
      throw device_error{
          call.operation,
          "the stream cannot be captured into a graph",
          {{"device", call.device}, {"code", call.code}},
          advice("give a stream of your own that is not captured already: the legacy default stream never can be")
              .c_str()};
    case device_failure::capture_spoiled:
      throw device_error{
          call.operation,
          "an earlier call was refused while the stream was captured, so that there is no graph",
          {{"device", call.device}, {"code", call.code}},
          advice("find what allocates, frees, queries or waits on the host among the captured calls, and keep it out")
              .c_str()};
    case device_failure::capture_unjoined:
      throw device_error{
          call.operation,
          "work was captured in a second stream that the captured one does not wait for",
          {{"device", call.device}, {"code", call.code}},
          advice("let the captured stream wait for an event behind the last work of every other one").c_str()};
    case device_failure::capture_from_outside:
      throw device_error{call.operation, "a stream that is captured into a graph was to wait for work that is not",
                         {{"device", call.device}, {"code", call.code}},
                         advice("record within the captured calls what they wait for").c_str()};
    case device_failure::capture_of_legacy:
      throw device_error{call.operation, "the legacy default stream was used while a stream was captured into a graph",
                         {{"device", call.device}, {"code", call.code}},
                         advice("put the work of a captured step into the stream that it is given").c_str()};
    case device_failure::context_lost:
      throw device_error{
          call.operation,
          "a kernel or copy that was started earlier failed, and the device's context is lost",
          {{"device", call.device}, {"code", call.code}},
          advice("every later call on the device fails: end the process, and find the kernel with compute-sanitizer")
              .c_str()};
    case device_failure::other: break;
  }
  throw device_error{call.operation,
                     "a call of the device's runtime failed",
                     {{"device", call.device}, {"code", call.code}},
                     call.name};
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
      "so much memory of the host cannot be pinned",
      {{"bytes asked", asked}, {"device", call.device}, {"code", call.code}},
      "keep fewer slots on the host, or raise what may be pinned: free memory, the container's limit, ulimit -l"};
}

}  // namespace cairn::detail
