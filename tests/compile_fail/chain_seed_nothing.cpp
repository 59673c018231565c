// error: seed\(x\) must return the adjoint of the final state
// SPDX-License-Identifier: Apache-2.0
#include <cairn/run/chain.hpp>
#include <vector>

#include "preludes/chain_layer.hpp"
std::vector<layer> stages;
#ifdef CAIRN_FIXED
auto const seed = [](vec const& x) { return x; };
#else
auto const seed = [](vec const&) {};
#endif
int main() {
  auto g = cairn::chain_gradient(stages, vec{1}, plan{}, seed);
  for (double& v : g) v *= 2;
  return g.size() > 1 || g[0] > 0 ? 0 : 1;
}
