// SPDX-License-Identifier: Apache-2.0
// A kernel that goes wrong on a real device: the error is reported at the next wait, by every call from then on, and
// never by clean-up.
#include <cairn/adapt/cuda/cuda_runtime.hpp>
#include <cairn/adapt/cuda/detail/owned_handle.hpp>
#include <cairn/adapt/cuda/device_buffer.hpp>
#include <cairn/adapt/cuda/owned_stream.hpp>
#include <string>
#include "support/catch.hpp"

namespace {

__global__ void write_to(int* where) { *where = 1; }

bool has_device() {
  int devices = 0;
  return cudaGetDeviceCount(&devices) == cudaSuccess && devices > 0;
}

}  // namespace

TEST_CASE("a kernel that writes where nothing is loses the context, and that is reported", "[adapt][cuda][gpu]") {
  if (!has_device()) CAIRN_SKIP("no GPU");
  using runtime = cairn::cuda_runtime;
  runtime device;
  cairn::device_buffer<runtime> const memory{device, 8};
  cairn::pinned_buffer<runtime> const host{device, 8};
  cairn::owned_stream<runtime> const stream{device};
  cairn::detail::owned_event<runtime> const event{device};
  write_to<<<1, 1, 0, stream.get()>>>(static_cast<int*>(memory.data()));
  device.sync(stream.get());
  write_to<<<1, 1, 0, stream.get()>>>(nullptr);
  for (int times = 0; times < 2; ++times) try {
      device.sync(stream.get());
      CHECK(false);
    } catch (cairn::device_error const& refused) {
      CHECK(std::string{refused.what()}.find("the device's context is lost") != std::string::npos);
    }
  CHECK_THROWS_AS(device.record(event.get(), stream.get()), cairn::device_error);
  CHECK_THROWS_AS(device.device_alloc(8), cairn::device_error);
}
