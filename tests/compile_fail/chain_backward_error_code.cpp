// error: a backward that changes bar must return nothing \(an error code is ignored; throw instead\)
// SPDX-License-Identifier: Apache-2.0
#include <cairn/run/chain.hpp>
#include <tuple>

using plan = std::vector<cairn::action>;
struct layer {
  double forward(double x) const { return 2 * x; }
#ifdef CAIRN_FIXED
  void backward(double, double& bar) const { bar *= 2; }
#else
  int backward(double, double& bar) const { bar *= 2; return 0; }
#endif
};
int main() { return cairn::chain_gradient(std::tuple{layer{}, layer{}}, 1.0, plan{}, 1.0) > 0 ? 0 : 1; }
