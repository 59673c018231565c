// error: a std::unique_ptr cannot be copied into a checkpoint
// SPDX-License-Identifier: Apache-2.0
#include <cairn/cairn.hpp>
#include <memory>

using handle = std::unique_ptr<double>;
#ifdef CAIRN_FIXED
double x0 = 1;
auto const step = [](double& x) { x *= 2; };
auto const adjoint = [](double, double& bar) { bar *= 2; };
#else
handle x0{new double{1}};
auto const step = [](handle& x) { *x *= 2; };
auto const adjoint = [](handle const&, double& bar) { bar *= 2; };
#endif
int main() {
  double const g = cairn::gradient(step, x0, 10, 1.0, adjoint);
  return 2 * g > 0 ? 0 : 1;
}
