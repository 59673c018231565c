// error: a stage that records needs `output\(tape\)`
// SPDX-License-Identifier: Apache-2.0
#include <cairn/run/chain.hpp>
#include <vector>

using vec = std::vector<double>;
using plan = std::vector<cairn::action>;
struct layer {
  vec forward(vec const& x) { return x; }
  vec record(vec const& x) { return x; }
#ifdef CAIRN_FIXED
  vec const& output(vec const& tape) { return tape; }
#else
  vec output(vec const& tape) { return tape; }
#endif
  void backward(vec const&, vec&) {}
};
std::vector<layer> stages;
int main() {
  auto g = cairn::chain_gradient(stages, vec{1}, plan{}, vec{1});
  for (double& v : g) v *= 2;
  return g.size() > 1 || g[0] > 0 ? 0 : 1;
}
