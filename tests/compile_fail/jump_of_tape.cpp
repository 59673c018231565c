// error: jumps around a recording adjoint need a state that can be copied
// SPDX-License-Identifier: Apache-2.0
#include <cairn/cairn.hpp>
#include <cairn/run/with/jumps.hpp>

struct solver {
  double v;
  explicit solver(double start) : v{start} {}
  solver(solver const&) = delete;
  [[nodiscard]] double save() const { return v; }
  void restore(double to) { v = to; }
};
int main() {
  auto const step = [](solver& x) { x.v *= 1.5; };
  auto const halve = [](solver& x) { x.v *= 0.5; };
  auto const halve_bar = [](solver const&, double& bar) { bar *= 0.5; };
  solver x{1};
#ifdef CAIRN_FIXED
  auto const adjoint = [](solver const&, double& bar) { bar *= 1.5; };
#else
  cairn::recorded const adjoint{[](solver& s) {
                                  double const before = s.v;
                                  s.v *= 1.5;
                                  return before;
                                },
                                [](double, double& bar) { bar *= 1.5; }};
#endif
  auto const loop = cairn::with_jumps{step, adjoint, cairn::jump_at(3, halve, halve_bar)};
  return cairn::gradient(loop.step, x, 10, 1.0, loop.adjoint) > 0 ? 0 : 1;
}
