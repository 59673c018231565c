// error: check_adjoint varies copies of the state
// SPDX-License-Identifier: Apache-2.0
#include <cairn/cairn.hpp>
#include <cairn/run/check/check_adjoint.hpp>

struct solver {
  double u = 1;
  solver() = default;
  solver(double v) : u{v} {}
#ifdef CAIRN_FIXED
  void visit_numbers(auto&& f) { f(&u, 1); }
  void visit_numbers(auto&& f) const { f(&u, 1); }
#else
  solver(solver const&) = delete;
  solver& operator=(solver const&) = delete;
#endif
  double save() const { return u; }
  void restore(double v) { u = v; }
};
auto const step = [](solver& x) { x.u *= x.u; };
auto const adjoint = [](solver const& x, double& bar) { bar *= 2 * x.u; };
int main() {
  solver const x0{0.5};
  return cairn::check_adjoint(step, adjoint, x0, 3, 1.0).passed() ? 0 : 1;
}
