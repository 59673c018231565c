// error: the step comes first, and then the initial state
// SPDX-License-Identifier: Apache-2.0
#include <cairn/cairn.hpp>
#include <vector>

using vec = std::vector<double>;
double const rate = 0.5;
auto const step = [k = rate](vec& x, cairn::step_index) { x[0] *= k; };
auto const adjoint = [](vec const&, vec& bar) { bar[0] *= rate; };
int main() {
#ifdef CAIRN_FIXED
  auto g = cairn::gradient(step, vec{2.0}, 10, vec{1.0}, adjoint);
#else
  auto g = cairn::gradient(vec{2.0}, step, 10, vec{1.0}, adjoint);
#endif
  for (double& v : g) v *= 2;
  return g[0] > 0 ? 0 : 1;
}
