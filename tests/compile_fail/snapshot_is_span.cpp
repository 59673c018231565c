// error: what save\(\) returns would share its data with the object
// SPDX-License-Identifier: Apache-2.0
#include <cairn/cairn.hpp>
#include <cmath>
#include <span>
#include <vector>

struct solver {
  solver() = default;
  solver(solver const&) = delete;
#ifdef CAIRN_FIXED
  [[nodiscard]] std::vector<double> save() const { return x; }
  void restore(std::vector<double> const& kept) { x = kept; }
#else
  [[nodiscard]] std::span<double const> save() const { return x; }
  void restore(std::span<double const> kept) { x.assign(kept.begin(), kept.end()); }
#endif
  std::vector<double> x{2.1};
};
auto const step = [](solver& s) { s.x[0] = std::sin(s.x[0]); };
auto const adjoint = [](solver const& s, double& bar) { bar *= std::cos(s.x[0]); };
int main() {
  solver s;
  (void)cairn::gradient(step, s, 10, 1.0, adjoint);
}
