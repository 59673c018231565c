// error: seed and adjoint are two arguments; give the seed
// SPDX-License-Identifier: Apache-2.0
#include <cairn/cairn.hpp>
#include <vector>

using vec = std::vector<double>;
auto const step = [](vec& x) { x[0] *= x[0]; };
auto const adjoint = [](vec const& x, vec& bar) { bar[0] *= 2 * x[0]; };
int main() {
#ifdef CAIRN_FIXED
  auto g = cairn::gradient(step, vec{2.0}, 10, vec{1.0}, adjoint);
#else
  auto g = cairn::gradient(step, vec{2.0}, 10, adjoint);
#endif
  for (double& v : g) v *= 2;
  vec const h = g;
  return h[0] + g[0] > 0 ? 0 : 1;
}
