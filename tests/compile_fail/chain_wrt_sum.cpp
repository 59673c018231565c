// error: with cairn::wrt it may take p and `auto& dp` after bar
// SPDX-License-Identifier: Apache-2.0
#include <cairn/run/chain.hpp>
#include <vector>
struct layer {
  double forward(double x, double q) const { return q * x; }
#ifdef CAIRN_FIXED
  double backward(double x, double bar, double q, double& dq) const { return dq += x * bar, q * bar; }
#else
  double backward(double x, double bar, double q, double dq) const { return dq += x * bar, q * bar; }
#endif
};
std::vector<layer> stages(3);
double const p = 0.9;
double dp = 0;
int main() {
  double const g = cairn::chain_gradient(stages, 1.0, std::vector<cairn::action>{}, 1.0, cairn::wrt{p, dp});
  return g > 0 ? 0 : 1;
}
