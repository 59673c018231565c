// error: the seed is a whole number, and every adjoint would be truncated to one; write 1.0
// SPDX-License-Identifier: Apache-2.0
#include <cairn/cairn.hpp>
#include <complex>
#include <vector>

struct state {
  std::vector<std::complex<double>> z;
  int k;
};
auto const step = [](state& x) { x.z[0] *= 0.5; };
auto const adjoint = [](auto const&, auto& bar) { bar = bar + bar; };
#ifdef CAIRN_FIXED
auto const seed = [](state const&) { return 1.0; };
#else
auto const seed = [](state const&) { return 1; };
#endif
int main() {
  auto run = cairn::checkpointed_loop(step, state{{1.0}, 0}, 10);
  double const g = run.reverse(seed, adjoint);
  return g > 0 ? 0 : 1;
}
