// error: a plan for a chain must be a list of cairn::action
// SPDX-License-Identifier: Apache-2.0
#include <cairn/run/chain.hpp>
#include <vector>

using vec = std::vector<double>;
using plan = std::vector<cairn::action>;
struct layer {
  vec forward(vec const& x) const { return x; }
  vec backward(vec const&, vec const& bar) const { return bar; }
};
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
