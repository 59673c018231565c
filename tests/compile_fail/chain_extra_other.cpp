// error: what follows the seed may be, in any order, an observer
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
auto const extra = [](cairn::event const&) {};
#else
auto const extra = 7;
#endif
int main() {
  auto g = cairn::chain_gradient(stages, vec{1}, plan{}, vec{1}, extra);
  for (double& v : g) v *= 2;
  return g.size() > 1 || g[0] > 0 ? 0 : 1;
}
