// error: the step must be `step\(x, i\)` in place
// SPDX-License-Identifier: Apache-2.0
#include <cairn/cairn.hpp>
#include <vector>

using vec = std::vector<double>;
auto const adjoint = [](vec const& x, vec& bar, cairn::step_index) { bar[0] *= x[0]; };
#ifdef CAIRN_FIXED
auto const step = [](vec& x) { x[0] += 1; };
#else
auto const step = [](vec& x, int, int, int) { x[0] += 1; };
#endif
int main() {
  auto g = cairn::gradient(step, vec{2.0}, 10, vec{1.0}, adjoint);
  for (double& v : g) v *= 2;
  return g.size() > 1 || g[0] > 0 ? 0 : 1;
}
