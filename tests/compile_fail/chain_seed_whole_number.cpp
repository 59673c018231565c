// error: the seed is a whole number, and every adjoint would be truncated to one; write 1.0
// SPDX-License-Identifier: Apache-2.0
#include <cairn/run/chain.hpp>
#include <vector>

using plan = std::vector<cairn::action>;
struct layer {
  double forward(double x) const { return 2 * x; }
  template <class Bar>
  Bar backward(double, Bar bar) const { return bar + bar; }
};
std::vector<layer> stages(3);
#ifdef CAIRN_FIXED
double const seed = 1.0;
#else
int const seed = 1;
#endif
int main() { return cairn::chain_gradient(stages, 1.0, plan{}, seed) > 0 ? 0 : 1; }
