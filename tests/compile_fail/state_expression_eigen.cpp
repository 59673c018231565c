// error: this state is a view or an expression of Eigen
// SPDX-License-Identifier: Apache-2.0
// flags: -DEIGEN_NO_CUDA
#include <Eigen/Core>
#include <cairn/cairn.hpp>

Eigen::Vector3d const v = Eigen::Vector3d::Ones();
auto const adjoint = [](auto const&, double& bar) { bar *= 2; };
#ifdef CAIRN_FIXED
auto const x0 = (2 * v).eval();
#else
auto const x0 = 2 * v;
#endif
auto const step = [](auto&, cairn::step_index) {};
int main() {
  double const g = cairn::gradient(step, x0, 10, 1.0, adjoint);
  return 2 * g > 0 ? 0 : 1;
}
