// error: the bar is in the library, where check_plans cannot see it
// SPDX-License-Identifier: Apache-2.0
#include <cairn/cairn.hpp>
#include <cairn/run/check/check_plans.hpp>

struct solver {
  double u = 0.5, bar = 0;
  solver() = default;
  solver(solver const&) = delete;
  double save() const { return u; }
  void restore(double v) { u = v; }
};
auto const step = [](solver& x) { x.u *= x.u; };
auto const seed = [](solver& x) { x.bar = 1; };
auto const adjoint = [](solver& x, cairn::step_index) { x.bar *= 2 * x.u; };
int main() {
  solver x;
#ifdef CAIRN_FIXED
  return cairn::check_plans(step, x, 3, seed, adjoint, [](solver const& s) { return s.bar; }).passed() ? 0 : 1;
#else
  return cairn::check_plans(step, x, 3, seed, adjoint).passed() ? 0 : 1;
#endif
}
