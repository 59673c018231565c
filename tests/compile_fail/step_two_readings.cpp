// error: this step can be read as \(x, i\) and as \(x, x1\)
// SPDX-License-Identifier: Apache-2.0
#include <cairn/cairn.hpp>

auto const adjoint = [](double, double& bar) { bar *= 2; };
#ifdef CAIRN_FIXED
auto const step = cairn::out_of_place([](auto&& x, auto&& y) { y = 2 * x; });
#else
auto const step = [](auto&& x, auto&& y) { y = 2 * x; };
#endif
int main() {
  double const g = cairn::gradient(step, 1.0, 10, 1.0, adjoint);
  return 2 * g > 0 ? 0 : 1;
}
