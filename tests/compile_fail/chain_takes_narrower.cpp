// error: a stage takes a number as one of a narrower type
// SPDX-License-Identifier: Apache-2.0
#include <cairn/run/chain.hpp>
#include <tuple>

using plan = std::vector<cairn::action>;
struct layer {
  double forward(double x) const { return 2 * x; }
#ifdef CAIRN_FIXED
  double backward(double, double bar) const { return 2 * bar; }
#else
  double backward(double, float bar) const { return 2 * double(bar); }
#endif
};
int main() { return cairn::chain_gradient(std::tuple{layer{}, layer{}}, 1.0, plan{}, 1.0) > 0 ? 0 : 1; }
