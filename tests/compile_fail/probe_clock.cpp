// error: a probe is given its clock
// SPDX-License-Identifier: Apache-2.0
#include <cairn/chains.hpp>
#include <chrono>
#include <vector>
struct layer {
  double forward(double x) const { return x; }
  double backward(double, double bar) const { return bar; }
};
std::vector<layer> net(8);
#ifdef CAIRN_FIXED
auto const work = cairn::chain_probe<std::chrono::steady_clock>(net, 1.0, 1.0);
#else
auto const work = cairn::chain_probe(net, 1.0, 1.0);
#endif
