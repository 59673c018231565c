// SPDX-License-Identifier: Apache-2.0
// The measurements on a device. Ends with 77 where there is none.
#include <cstdio>
#include <exception>
#include <cairn/adapt/cuda/cuda_runtime.hpp>
#include "cuda_machine.cuh"
#include "plan.hpp"

int main(int argc, char** argv) {
  if (gpu::tells_sources(argc, argv)) return 0;
  try {
    static_cast<void>(cairn::cuda_runtime::device_count());
  } catch (cairn::device_error const& none) {
    std::fprintf(stderr, "%s\n", none.what());
    return 77;
  }
  try {
    gpu::cuda_machine machine;
    return gpu::run(machine, gpu::device_settings(), argc, argv);
  } catch (std::exception const& failure) {
    std::fprintf(stderr, "%s: %s\n", argv[0], failure.what());
    return 1;
  }
}
