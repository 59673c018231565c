// SPDX-License-Identifier: Apache-2.0
// Sweeps for callgrind: `no_observer_cost gradient|run TIMES`. Counted by tests/scripts/no_cost.py.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <cairn/run/gradient.hpp>
#include <cairn/run/loop.hpp>
#include <cairn/schedule/revolve.hpp>

namespace {

struct looks {
  long* events;
  void operator()(cairn::event const&) const { ++*events; }
};

}  // namespace

int main(int count, char** words) {
  if (count != 3) return 2;
  bool const whole = std::strcmp(words[1], "gradient") == 0;
  cairn::revolve const plan{300, 8};
  auto work = cairn::workspace_for<double>(plan);
  auto const step = [](double& x, cairn::step_index i) { x += 1e-3 * x * double(i % 3); };
  auto const adjoint = [](double const&, double& bar, cairn::step_index i) { bar += 1e-3 * bar * double(i % 3); };
#ifdef OBSERVED
  long events = 0;
  looks const observer{&events};
#else
  cairn::no_observer const observer;
#endif
  double sum = 0;
  for (int k = std::atoi(words[2]); k > 0; --k) {
    if (whole) sum += cairn::gradient(step, 1.0, plan, 1.0, adjoint, work, observer);
    else sum += cairn::checkpointed_loop(step, 1.0, plan, work, observer).reverse(1.0, adjoint);
  }
  std::printf("%.17g\n", sum);
}
