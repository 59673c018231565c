// SPDX-License-Identifier: Apache-2.0
// The measurements without a GPU: tiny states, work done at once, time on a clock whose results are known. Every row
// must meet its prediction.
#include "dry_machine.hpp"
#include "plan.hpp"

int main(int argc, char** argv) {
  gpu::dry_machine machine{{}};
  return gpu::run(machine, gpu::dry_settings(), argc, argv);
}
