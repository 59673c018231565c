// SPDX-License-Identifier: Apache-2.0
// The runtime on which the examples for devices run without one: it keeps what every runtime promises.
#include <cstddef>
#include <vector>
#include <cairn/adapt/cuda/device_buffer.hpp>
#include <cairn/core/error.hpp>
#include "../../examples/cuda/device_array.hpp"
#include "../../examples/cuda/host_runtime.hpp"
#include "support/catch.hpp"
#include "support/device_conformance.hpp"

using support::host_runtime;

TEST_CASE("the host as a device keeps the promises of a device's runtime", "[examples][cuda]") {
  host_runtime device;
  for (std::size_t const numbers : {1u, 1'000u}) device_conformance::copies_follow_events(device, numbers);
  device_conformance::edges_hold(device);
  device_conformance::memory_runs_out(device);
}

TEST_CASE("the host as a device has as much of either memory as it says, and counts what is given back",
          "[examples][cuda]") {
  host_runtime device{1'000};
  {
    cairn::device_buffer<host_runtime> const most{device, 1'000};
    cairn::pinned_buffer<host_runtime> const pinned{device, 400};
    CHECK(device.free_bytes() == 0);
    CHECK_THROWS_AS((cairn::device_buffer<host_runtime>{device, 1}), cairn::out_of_memory);
    CHECK_THROWS_AS((cairn::pinned_buffer<host_runtime>{device, 601}), cairn::out_of_memory);
    cairn::pinned_buffer<host_runtime> const rest{device, 600};
    CHECK(device.free_bytes() == 0);
  }
  CHECK(device.free_bytes() == 1'000);
  host_runtime nothing{0};
  CHECK_THROWS_AS((cairn::device_buffer<host_runtime>{nothing, 1}), cairn::out_of_memory);
  CHECK_THROWS_AS((cairn::device_buffer<host_runtime>{device, ~std::size_t{0}}), cairn::out_of_memory);
}

TEST_CASE("an array on the device holds what was sent there, nothing included", "[examples][cuda]") {
  host_runtime device;
  for (std::vector<double> const& values : {std::vector<double>{}, {0.5}, {1, 2, 3}}) {
    support::device_array<double> const array{device, device.make_stream(), values};
    CHECK(array.size() == values.size());
    CHECK(array.values(device, device.make_stream()) == values);
  }
}
