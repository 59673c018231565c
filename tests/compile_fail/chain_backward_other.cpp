// error: the backward of a stage must be `backward\(x, bar\)`
// SPDX-License-Identifier: Apache-2.0
#include <cairn/run/chain.hpp>
#include <vector>

using vec = std::vector<double>;
using plan = std::vector<cairn::action>;
struct layer {
  vec forward(vec const& x) { return x; }
#ifdef CAIRN_FIXED
  void backward(vec const&, vec&) {}
#else
  void backward(vec const&, vec&, double) {}
#endif
};
std::vector<layer> stages;
int main() {
  auto g = cairn::chain_gradient(stages, vec{1}, plan{}, vec{1});
  for (double& v : g) v *= 2;
  return g.size() > 1 || g[0] > 0 ? 0 : 1;
}
