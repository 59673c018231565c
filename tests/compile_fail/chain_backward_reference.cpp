// error: backward must change bar and return nothing, or return the new bar
// SPDX-License-Identifier: Apache-2.0
#include <cairn/run/chain.hpp>
#include <vector>

using vec = std::vector<double>;
using plan = std::vector<cairn::action>;
struct layer {
  vec forward(vec const& x) { return x; }
#ifdef CAIRN_FIXED
  vec backward(vec const&, vec const& bar) { return bar; }
#else
  vec const& backward(vec const&, vec const& bar) { return bar; }
#endif
};
std::tuple<layer> stages;
int main() {
  auto g = cairn::chain_gradient(stages, vec{1}, plan{}, vec{1});
  for (double& v : g) v *= 2;
  return g.size() > 1 || g[0] > 0 ? 0 : 1;
}
