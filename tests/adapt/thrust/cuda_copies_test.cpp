// SPDX-License-Identifier: Apache-2.0
// How copies are ordered on Thrust's CUDA system, on a runtime of the test's own that notes what it is asked: no device
// and no nvcc is needed for that, only the headers of both.
#include <cstddef>
#include <cstring>
#include <string>
#include <thrust/execution_policy.h>
#include <cairn/adapt/thrust/on_stream.hpp>
#include <cairn/core/device_memory.hpp>
#include "support/catch.hpp"

namespace {

std::string asked;
cudaError_t answer = cudaSuccess;

cudaStream_t stream(std::size_t number) { return reinterpret_cast<cudaStream_t>(number); }
std::string name_of(cudaStream_t which) { return std::to_string(reinterpret_cast<std::size_t>(which)); }

}  // namespace

extern "C" {
cudaError_t cudaMemcpyAsync(void* into, void const* from, std::size_t bytes, cudaMemcpyKind, cudaStream_t on) {
  asked += "copy " + std::to_string(bytes) + " on " + name_of(on) + "; ";
  if (answer == cudaSuccess) std::memcpy(into, from, bytes);
  return answer;
}
cudaError_t cudaStreamSynchronize(cudaStream_t on) {
  asked += "wait for " + name_of(on) + "; ";
  return cudaSuccess;
}
cudaError_t cudaDeviceSynchronize() {
  asked += "wait for all; ";
  return cudaSuccess;
}
cudaError_t cudaGetDevice(int* device) {
  *device = 3;
  return cudaSuccess;
}
char const* cudaGetErrorName(cudaError_t) { return "its name"; }
}

namespace {

/// What a copy of three numbers asks of the runtime.
std::string asked_by_copy() {
  double const from[] = {1, 2, 3};
  double into[3] = {};
  asked.clear();
  cairn::detail::copies_of_states().copy(cairn::device_pointer<double const>{&from[0]},
                                         cairn::device_pointer<double>{&into[0]}, 3);
  CHECK(into[2] == 3);
  return asked;
}

}  // namespace

TEST_CASE("a copy that is told of no stream waits for all of the device, and for itself", "[thrust]") {
  CHECK(asked_by_copy() == "wait for all; copy 24 on 0; wait for 0; ");
}

TEST_CASE("a copy goes onto the stream of the innermost on_stream, and waits for nothing", "[thrust]") {
  {
    cairn::on_stream const outer{thrust::cuda::par_nosync.on(stream(7))};
    CHECK(asked_by_copy() == "copy 24 on 7; ");
    {
      cairn::on_stream const inner{thrust::cuda::par.on(stream(9))};
      CHECK(asked_by_copy() == "copy 24 on 9; ");
    }
    CHECK(asked_by_copy() == "copy 24 on 7; ");
  }
  CHECK(asked_by_copy() == "wait for all; copy 24 on 0; wait for 0; ");
}

TEST_CASE("a stream may be given by itself, by an object that has one, or by a policy that names none", "[thrust]") {
  struct owner {
    cudaStream_t own = stream(11);
    cudaStream_t get() const { return own; }
  };
  struct view {
    operator cudaStream_t() const { return stream(12); }
  };
  auto const told = [](auto const& where) {
    cairn::on_stream const here{where};
    return asked_by_copy();
  };
  CHECK(told(stream(5)) == "copy 24 on 5; ");
  CHECK(told(owner{}) == "copy 24 on 11; ");
  CHECK(told(view{}) == "copy 24 on 12; ");
  auto const legacy = "copy 24 on " + name_of(cudaStreamLegacy) + "; ";
  CHECK(told(thrust::device) == legacy);
  CHECK(told(thrust::cuda::par) == legacy);
  CHECK(told(thrust::cuda::par_nosync) == legacy);
  CHECK(told(cudaStream_t{}) == "copy 24 on 0; ");
}

TEST_CASE("before Thrust copies on the default stream, the states' own stream is finished", "[thrust]") {
  asked.clear();
  cairn::detail::copies_of_states().finish();
  CHECK(asked == "wait for all; ");
  cairn::on_stream const here{stream(7)};
  asked.clear();
  cairn::detail::copies_of_states().finish();
  cairn::detail::device_copies::finish_of_thrust();
  CHECK(asked == "wait for 7; wait for 0; ");
}

TEST_CASE("nothing is asked for nothing, and what the runtime refuses is an error that says its code", "[thrust]") {
  cairn::on_stream const here{stream(7)};
  cairn::device_pointer<double> none;
  asked.clear();
  cairn::detail::copies_of_states().copy(none, none, 0);
  CHECK(asked.empty());
  answer = cudaErrorIllegalAddress;
  double number = 0;
  cairn::device_pointer<double> const some{&number};
  try {
    cairn::detail::copies_of_states().copy(some, some, 1);
    FAIL("no error");
  } catch (cairn::device_error const& e) {
    CHECK(std::string{e.what()} ==
          "cairn::copy_state: a call of the device's runtime failed (device = 3, code = 700); its name");
  }
  answer = cudaSuccess;
}
