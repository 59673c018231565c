// error: this store cannot load the states of these stages
// SPDX-License-Identifier: Apache-2.0
#include <cairn/run/chain.hpp>
#include <vector>

#include "preludes/chain_layer.hpp"
std::vector<layer> stages;
struct shelf {
  void save(cairn::tier, cairn::step_index, vec const&) {}
#ifdef CAIRN_FIXED
  vec load(cairn::tier, cairn::step_index) { return {}; }
#else
  double load(cairn::tier, cairn::step_index) { return 0; }
#endif
  void drop(cairn::tier, cairn::step_index) {}
} store;
int main() {
  auto g = cairn::chain_gradient(stages, vec{1}, plan{}, vec{1}, store);
  for (double& v : g) v *= 2;
  return g.size() > 1 || g[0] > 0 ? 0 : 1;
}
