// error: must give states of the type of x0
// SPDX-License-Identifier: Apache-2.0
#include <cairn/run/chain.hpp>
#include <vector>

using vec = std::vector<double>;
using plan = std::vector<cairn::action>;
struct total {
  double forward(vec const& x) const { return x[0]; }
  vec backward(vec const&, double bar) const { return {bar}; }
};
#ifdef CAIRN_FIXED
std::tuple<total> stages;
#else
std::vector<total> stages;
#endif
int main() { (void)cairn::chain_gradient(stages, vec{1}, plan{}, 1.0); }
