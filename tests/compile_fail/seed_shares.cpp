// error: the seed must give an adjoint that owns its data
// SPDX-License-Identifier: Apache-2.0
#include <cairn/cairn.hpp>
#include <vector>

using vec = std::vector<double>;
auto const step = [](vec& x, cairn::step_index) { x[0] *= x[0]; };
double one = 1;
#ifdef CAIRN_FIXED
auto const seed = [](vec const& x) { return x; };
auto const adjoint = [](vec const& x, vec& bar) { bar[0] *= x[0]; };
#else
auto const seed = [](vec const&) { return &one; };
auto const adjoint = [](vec const& x, double* bar) { *bar *= x[0]; };
#endif
int main() {
  auto g = cairn::gradient(step, vec{2.0}, 10, seed, adjoint);
  g[0] *= 2;
  return g[0] > 0 ? 0 : 1;
}
