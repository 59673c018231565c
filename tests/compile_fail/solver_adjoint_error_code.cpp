// error: an adjoint that changes bar must return nothing
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
auto const adjoint = [](solver& at, cairn::step_index) { at.bar *= 2; };
#else
auto const adjoint = [](solver& at, cairn::step_index) { return int(at.bar *= 2); };
#endif
int main() {
  (void)cairn::gradient(step, s, 10, seed, adjoint);
  return s.bar > 0 ? 0 : 1;
}
