// error: a stage needs `y = forward\(x\)`
// SPDX-License-Identifier: Apache-2.0
#include <cairn/run/chain.hpp>
#include <vector>

#include "preludes/chain_layer.hpp"
struct total {
  double forward(vec const& x) const { return x[0]; }
  vec backward(vec const&, double bar) const { return {bar}; }
};
struct changes_state {
  vec forward(vec& x) const { return x; }
  vec backward(vec const&, vec const& bar) const { return bar; }
};
static_assert(!cairn::stage_of<changes_state, vec, vec>);
#ifdef CAIRN_FIXED
std::tuple<layer, total> stages;
#else
std::tuple<total, layer> stages;
#endif
int main() { (void)cairn::chain_gradient(stages, vec{1}, plan{}, 1.0); }
