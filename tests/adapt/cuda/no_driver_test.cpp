// SPDX-License-Identifier: Apache-2.0
// cuda_runtime on the real library: what it says where there is no driver or no device, and that it does what it must
// where there is one.
#include <cstddef>
#include <new>
#include <string>
#include <type_traits>
#include <cairn/adapt/cuda/cuda_runtime.hpp>
#include <cairn/adapt/cuda/device_budget.hpp>
#include "support/catch.hpp"
#include "support/device_conformance.hpp"

using namespace cairn;

namespace {

bool has_device() {
  try {
    return cuda_runtime::device_count() > 0;
  } catch (device_error const&) {
    return false;
  }
}

}  // namespace

TEST_CASE("without driver or device the error says so and what to do", "[adapt][cuda]") {
  if (has_device()) CAIRN_SKIP("there is a device");
  for (int const number : {-1, 0, 1}) try {
      cuda_runtime const device = number < 0 ? cuda_runtime{} : cuda_runtime{number};
      CHECK(device.device() == -2);
    } catch (device_error const& refused) {
      std::string const text = refused.what();
      CAPTURE(text);
      CHECK(std::string{refused.operation()} == "cairn::cuda_runtime");
      CHECK((text.find("the CUDA driver is missing") != std::string::npos ||
             text.find("has no CUDA device") != std::string::npos));
      CHECK(text.find("cudaError") != std::string::npos);
      CHECK(std::string{refused.advice()}.find("nvidia-smi") != std::string::npos);
    }
  CHECK_THROWS_AS(cuda_runtime::device_count(), device_error);
}

TEST_CASE("without driver clean-up is quiet", "[adapt][cuda]") {
  if (has_device()) CAIRN_SKIP("there is a device");
  CHECK_THROWS_AS((detail::device_guard{0, "a test"}), device_error);
  detail::device_guard const quiet{0, std::nothrow};
  static_assert(std::is_nothrow_constructible_v<detail::device_guard, int, std::nothrow_t>);
}

TEST_CASE("a real device copies in the order of streams and events", "[adapt][cuda][gpu]") {
  if (!has_device()) CAIRN_SKIP("no GPU");
  cuda_runtime device;
  for (std::size_t const numbers : {1u, 1'000u, 1'000'000u}) device_conformance::copies_follow_events(device, numbers);
  device_conformance::edges_hold(device);
  cuda_runtime pinning{device.device(), 4};
  device_conformance::copies_follow_events(pinning, 1'000'000);
  device_conformance::edges_hold(pinning);
}

TEST_CASE("a real device says how much memory it has, and when that is not enough", "[adapt][cuda][gpu]") {
  if (!has_device()) CAIRN_SKIP("no GPU");
  cuda_runtime device;
  device_conformance::memory_runs_out(device);
  CHECK(device_budget{"50%"}.of(device) > 0);
  CHECK_THROWS_AS(device_budget{"1PB"}.of(device), out_of_memory);
  CHECK(device.copy_engines() >= 1);
  CHECK_THROWS_AS(cuda_runtime{cuda_runtime::device_count()}, device_error);
}

TEST_CASE("every real device can be used whichever is current", "[adapt][cuda][gpu]") {
  if (!has_device()) CAIRN_SKIP("no GPU");
  int const devices = cuda_runtime::device_count();
  for (int current = 0; current < devices; ++current)
    for (int number = 0; number < devices; ++number) {
      REQUIRE(cudaSetDevice(current) == cudaSuccess);
      cuda_runtime device{number};
      device_conformance::copies_follow_events(device, 1'000);
      int now = -1;
      CHECK(cudaGetDevice(&now) == cudaSuccess);
      CHECK(now == current);
    }
}
