// error: a profile runs its loop several times; give it a state that can be copied
// SPDX-License-Identifier: Apache-2.0
#include <cairn/profile/graph_profiler.hpp>
#include <chrono>

struct solver {
  double x = 1;
  solver() = default;
#ifndef CAIRN_FIXED
  solver(solver const&) = delete;
#endif
  double save() const { return x; }
  void restore(double kept) { x = kept; }
};
auto const step = [](solver& at) { at.x *= 2; };
auto const adjoint = [](solver const&, double& bar) { bar *= 2; };
bool profiled(cairn::graph_profiler<std::chrono::steady_clock>& profiler, solver const& x0) {
  return profiler.run(step, x0, 10, 1.0, adjoint).steps == 10;
}
