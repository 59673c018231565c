// SPDX-License-Identifier: Apache-2.0
#include <cairn/cairn.hpp>

#include <Eigen/Core>
#include <cmath>
#include <cstdio>

int main() {
  auto const step = [](Eigen::VectorXd& x, cairn::step_index) { x *= 0.999; };
  auto const adjoint = [](Eigen::VectorXd const&, Eigen::VectorXd& bar, cairn::step_index) { bar *= 0.999; };
  auto const seed = [](Eigen::VectorXd const& x) { return Eigen::VectorXd{Eigen::VectorXd::Ones(x.size())}; };
  Eigen::VectorXd const x0 = Eigen::VectorXd::Ones(3);
  Eigen::VectorXd const gradient = cairn::gradient(step, x0, cairn::revolve{1000, 8}, seed, adjoint);
  std::printf("gradient %.17g\n", gradient[2]);
  return std::abs(gradient[2] - std::pow(0.999, 1000)) < 1e-12 ? 0 : 1;
}
