// error: must give adjoints of the type that the seed gives
// SPDX-License-Identifier: Apache-2.0
#include <cairn/run/chain.hpp>
#include <vector>

using vec = std::vector<double>;
using plan = std::vector<cairn::action>;
struct layer {
  vec forward(vec const& x) const { return x; }
  vec backward(vec const&, vec const& bar) const { return bar; }
  vec backward(vec const&, float bar) const { return {bar}; }
};
std::vector<layer> stages;
#ifdef CAIRN_FIXED
vec bar;
#else
float bar = 1;
#endif
int main() { (void)cairn::chain_gradient(stages, vec{1}, plan{}, bar); }
