// error: a stage needs `y = forward\(x\)`
// SPDX-License-Identifier: Apache-2.0
#include <cairn/run/chain.hpp>
#include <vector>

using vec = std::vector<double>;
using plan = std::vector<cairn::action>;
struct layer {
#ifdef CAIRN_FIXED
  vec forward(vec const& x) { return x; }
#else
  vec forward(vec& x) { return x; }
#endif
  void backward(vec const&, vec&) {}
};
std::vector<layer> stages;
int main() {
  auto g = cairn::chain_gradient(stages, vec{1}, plan{}, vec{1});
  for (double& v : g) v *= 2;
  return g.size() > 1 || g[0] > 0 ? 0 : 1;
}
