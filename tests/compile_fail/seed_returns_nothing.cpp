// error: seed\(x\) must return the adjoint of the final state
// SPDX-License-Identifier: Apache-2.0
#include <cairn/cairn.hpp>
#include <vector>

using vec = std::vector<double>;
auto const step = [](vec& x, cairn::step_index) { x[0] *= x[0]; };
auto const adjoint = [](vec const& x, vec& bar, cairn::step_index) { bar[0] *= x[0]; };
#ifdef CAIRN_FIXED
auto const seed = [](vec const& x) { return x; };
#else
auto const seed = [](vec const&) {};
#endif
int main() {
  auto g = cairn::gradient(step, vec{2.0}, 10, seed, adjoint);
  for (double& v : g) v *= 2;
  return g.size() > 1 || g[0] > 0 ? 0 : 1;
}
