// error: a cairn::any_stage takes no parameters of cairn::wrt
// SPDX-License-Identifier: Apache-2.0
#include <cairn/run/chain.hpp>
#include <vector>
struct layer {
  double forward(double x) const { return 2 * x; }
  double backward(double, double bar) const { return 2 * bar; }
};
#ifdef CAIRN_FIXED
std::vector<layer> stages(3);
#else
std::vector<cairn::any_stage> stages;
#endif
double const p = 0.9;
double dp = 0;
int main() {
  auto const g = cairn::chain_gradient(stages, 1.0, std::vector<cairn::action>{}, 1.0, cairn::wrt{p, dp});
  return sizeof g > 0 ? 0 : 1;
}
