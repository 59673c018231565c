// error: what save\(\) returns would share its data with the object
// SPDX-License-Identifier: Apache-2.0
#include <cairn/cairn.hpp>
#include <cmath>
#include <memory>

struct solver {
  solver() = default;
  solver(solver const&) = delete;
#ifdef CAIRN_FIXED
  [[nodiscard]] double save() const { return *x; }
  void restore(double kept) { *x = kept; }
#else
  [[nodiscard]] std::shared_ptr<double> save() const { return x; }
  void restore(std::shared_ptr<double> kept) { *x = *kept; }
#endif
  std::shared_ptr<double> x = std::make_shared<double>(2.1);
};
auto const step = [](solver& s) { *s.x = std::sin(*s.x); };
auto const adjoint = [](solver const& s, double& bar) { bar *= std::cos(*s.x); };
int main() {
  solver s;
  (void)cairn::gradient(step, s, 10, 1.0, adjoint);
}
