// error: a plan for a chain must be a list of cairn::action
// SPDX-License-Identifier: Apache-2.0
#include <cairn/run/chain.hpp>
#include <vector>

#include "preludes/chain_layer.hpp"
std::vector<layer> stages;
#ifdef CAIRN_FIXED
plan actions;
#else
std::vector<int> actions;
#endif
int main() {
  auto g = cairn::chain_gradient(stages, vec{1}, actions, vec{1});
  for (double& v : g) v *= 2;
  return g.size() > 1 || g[0] > 0 ? 0 : 1;
}
