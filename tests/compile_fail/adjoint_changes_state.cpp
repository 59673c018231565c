// error: the adjoint takes the state by a reference that is not const
// SPDX-License-Identifier: Apache-2.0
#include <cairn/cairn.hpp>
#include <vector>

using vec = std::vector<double>;
auto const step = [](vec& x, cairn::step_index) { x[0] *= x[0]; };
#ifdef CAIRN_FIXED
auto const adjoint = [](vec const& x, vec& bar, cairn::step_index) { bar[0] *= x[0]; };
#else
auto const adjoint = [](vec& x, vec& bar, cairn::step_index) { bar[0] *= x[0]; };
#endif
int main() {
  auto g = cairn::gradient(step, vec{2.0}, 10, vec{1.0}, adjoint);
  for (double& v : g) v *= 2;
  return g.size() > 1 || g[0] > 0 ? 0 : 1;
}
