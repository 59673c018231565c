// error: backward returns a whole number as the adjoint of floating-point numbers
// SPDX-License-Identifier: Apache-2.0
#include <cairn/run/chain.hpp>
#include <tuple>

using plan = std::vector<cairn::action>;
struct layer {
  double forward(double x) const { return 2 * x; }
#ifdef CAIRN_FIXED
  double backward(double, double bar) const { return bar > 0 ? 2 : -2; }
#else
  int backward(double, double bar) const { return bar > 0 ? 2 : -2; }
#endif
};
int main() { return cairn::chain_gradient(std::tuple{layer{}, layer{}}, 1.0, plan{}, 1.0) > 0 ? 0 : 1; }
