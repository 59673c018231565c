// error: must take it by non-const reference
// SPDX-License-Identifier: Apache-2.0
#include <cairn/cairn.hpp>
#include <vector>

struct solver {
  std::vector<double> x{1};
  solver() = default;
  solver(solver const&) = delete;
  std::vector<double> save() const { return x; }
#ifdef CAIRN_FIXED
  void save(std::vector<double>& into) const { into = x; }
#else
  void save(std::vector<double> into) const { into = x; }
#endif
  void restore(std::vector<double> const& kept) { x = kept; }
};
solver s;
auto const step = [](solver& at) { at.x[0] *= 2; };
auto const adjoint = [](solver const&, double& bar) { bar *= 2; };
int main() {
  double const g = cairn::gradient(step, s, 10, 1.0, adjoint);
  return 2 * g > 0 ? 0 : 1;
}
