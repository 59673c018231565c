// error: the forward of a stage takes p, but its backward takes no dp
// SPDX-License-Identifier: Apache-2.0
#include <cairn/run/chain.hpp>
#include <vector>
struct layer {
  double forward(double x, double p) const { return p * x; }
#ifdef CAIRN_FIXED
  double backward(double x, double bar, double p, double& dp) const { return dp += bar * x, p * bar; }
#else
  double backward(double, double bar) const { return 2 * bar; }
#endif
};
std::vector<layer> stages(3);
double const p = 0.9;
double dp = 0;
int main() {
  auto const g = cairn::chain_gradient(stages, 1.0, std::vector<cairn::action>{}, 1.0, cairn::wrt{p, dp});
  return sizeof g > 0 ? 0 : 1;
}
