// error: give cairn::uniform\{n, \{.checkpoints = count\}\} as the third argument
// SPDX-License-Identifier: Apache-2.0
#include <cairn/cairn.hpp>
#include <vector>

using vec = std::vector<double>;
auto const step = [](vec& x) { x[0] *= 0.5; };
auto const adjoint = [](vec const&, vec& bar) { bar[0] *= 0.5; };
int main() {
#ifdef CAIRN_FIXED
  auto g = cairn::gradient(step, vec{2.0}, cairn::uniform{10, {.checkpoints = 3}}, vec{1.0}, adjoint);
#else
  auto g = cairn::gradient(step, vec{2.0}, 10, 3, vec{1.0}, adjoint);
#endif
  for (double& v : g) v *= 2;
  return g[0] > 0 ? 0 : 1;
}
