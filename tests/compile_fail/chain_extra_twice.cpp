// error: two arguments of the same kind follow the seed; give each kind once
// SPDX-License-Identifier: Apache-2.0
#include <cairn/run/chain.hpp>
#include <vector>

#include "preludes/chain_layer.hpp"
std::vector<layer> stages;
auto const observer = [](cairn::event const&) {};
cairn::sweep_failure failure;
#ifdef CAIRN_FIXED
int main() {
  auto g = cairn::chain_gradient(stages, vec{1}, plan{}, vec{1}, observer, failure);
  for (double& v : g) v *= 2;
  return g.size() > 1 || g[0] > 0 ? 0 : 1;
}
#else
int main() {
  auto g = cairn::chain_gradient(stages, vec{1}, plan{}, vec{1}, observer, observer);
  for (double& v : g) v *= 2;
  return g.size() > 1 || g[0] > 0 ? 0 : 1;
}
#endif
