// error: what follows the seed may be, in any order, an observer
// SPDX-License-Identifier: Apache-2.0
#include <cairn/run/chain.hpp>
#include <vector>

#include "preludes/chain_layer.hpp"
std::vector<layer> stages;
#ifdef CAIRN_FIXED
auto const extra = [](cairn::event const&) {};
#else
auto const extra = 7;
#endif
int main() {
  auto g = cairn::chain_gradient(stages, vec{1}, plan{}, vec{1}, extra);
  for (double& v : g) v *= 2;
  return g.size() > 1 || g[0] > 0 ? 0 : 1;
}
