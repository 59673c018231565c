// error: stages are a std::tuple or a std::vector of objects
// SPDX-License-Identifier: Apache-2.0
#include <cairn/run/chain.hpp>
#include <vector>

using vec = std::vector<double>;
using plan = std::vector<cairn::action>;
struct layer {
  vec forward(vec const& x) const { return x; }
  vec backward(vec const&, vec const& bar) const { return bar; }
};
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
