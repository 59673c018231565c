// error: the step must be `step\(x, i\)` in place
// SPDX-License-Identifier: Apache-2.0
#include <cairn/cairn.hpp>

struct model {
  double x;
  void advance(cairn::step_index) { x *= x; }
};
auto const adjoint = [](model const& m, double& bar) { bar *= 2 * m.x; };
#ifdef CAIRN_FIXED
auto const step = [](model& m, cairn::step_index i) { m.advance(i); };
#else
auto const step = &model::advance;
#endif
int main() {
  double const g = cairn::gradient(step, model{0.5}, 10, 1.0, adjoint);
  return 2 * g > 0 ? 0 : 1;
}
