// SPDX-License-Identifier: Apache-2.0
// Gradients by a tool that replays its recording, a number of times: for replay_cost.py, which counts what comparing
// the replays costs.
#ifdef CPPAD
#include <cairn/adapt/cppad.hpp>
using tape = cairn::cppad_tape;
#else
#include <cairn/adapt/adolc.hpp>
using tape = cairn::adolc_tape;
#endif
#include "full_tape.hpp"

/// replays STEPS LEAF SLOTS TIMES prints the derivative by the viscosity.
int main(int argc, char** argv) {
  if (argc != 5) {
    std::fprintf(stderr, "usage: %s STEPS LEAF SLOTS TIMES\n", argv[0]);
    return 2;
  }
  cairn::step_index const steps = std::atoll(argv[1]), leaf = std::atoll(argv[2]);
  auto const plan = cairn::leaves(steps, leaf, cairn::revolve{(steps + leaf - 1) / leaf, std::atoll(argv[3])});
  cairn::taped loop{tape{}, burgers_by_data{}, viscosity, final_sum{}};
  double by_viscosity = 0;
  for (int k = std::atoi(argv[4]); k > 0; --k) by_viscosity = cairn::differentiate(loop, start(), plan).params;
  std::printf("%.17g\n", by_viscosity);
}
