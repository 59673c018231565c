// error: stages are a std::tuple or a std::vector of objects
// SPDX-License-Identifier: Apache-2.0
#include <cairn/run/chain.hpp>
#include <vector>

#include "preludes/chain_layer.hpp"
#ifdef CAIRN_FIXED
std::vector<layer> stages;
#else
layer stages;
#endif
int main() {
  auto g = cairn::chain_gradient(stages, vec{1}, plan{}, vec{1});
  for (double& v : g) v *= 2;
  return g.size() > 1 || g[0] > 0 ? 0 : 1;
}
