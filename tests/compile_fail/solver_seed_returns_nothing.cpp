// error: the seed returns nothing, so that bar is the library's
// SPDX-License-Identifier: Apache-2.0
#include <cairn/cairn.hpp>

struct solver {
  double x = 1, bar = 0;
  solver() = default;
  solver(solver const&) = delete;
  double save() const { return x; }
  void restore(double kept) { x = kept; }
};
solver s;
auto const step = [](solver& at) { at.x *= 2; };
auto const seed = [](solver& at) { at.bar = 1; };
#ifdef CAIRN_FIXED
auto const adjoint = [](solver& at) { at.bar *= 2; };
#else
auto const adjoint = [](solver const&, double& bar, cairn::step_index) { bar *= 2; };
#endif
int main() {
  auto const g = cairn::gradient(step, s, 10, seed, adjoint);
  (void)g;
  return s.bar > 0 ? 0 : 1;
}
