// error: the step must return nothing, or the state itself
// SPDX-License-Identifier: Apache-2.0
// flags: -DEIGEN_NO_CUDA
#include <Eigen/Core>
#include <cairn/cairn.hpp>

using vec = Eigen::VectorXd;
auto const adjoint = [](vec const&, vec& bar) { bar *= 2; };
#ifdef CAIRN_FIXED
auto const step = [](vec const& x) { return vec{2 * x}; };
#else
auto const step = [](vec const& x) { return 2 * x; };
#endif
int main() {
  auto g = cairn::gradient(step, vec{vec::Ones(3)}, 10, [](vec const& x) { return x; }, adjoint);
  for (double& v : g) v *= 2;
  return g.size() > 1 || g[0] > 0 ? 0 : 1;
}
