// error: the replay check cannot determine the bytes of a state of these stages
// SPDX-License-Identifier: Apache-2.0
#include <cairn/run/chain.hpp>
#include <memory>
#include <tuple>

using plan = std::vector<cairn::action>;
#ifdef CAIRN_FIXED
using state = double;
#else
struct state {
  std::unique_ptr<double> value;
};
#endif
struct layer {
  state forward(double) const { return {}; }
  double backward(double, double bar) const { return bar; }
};
std::tuple<layer> stages;
int main() { (void)cairn::chain_gradient(stages, 1.0, plan{}, 1.0, cairn::sweep_options{}); }
