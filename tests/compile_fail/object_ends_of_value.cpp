// error: object_ends says where an object with save\(\) and restore\(\) is left
// SPDX-License-Identifier: Apache-2.0
#include <cairn/cairn.hpp>

auto const step = [](double& x) { x *= 2; };
auto const adjoint = [](double, double& bar) { bar *= 2; };
int main() {
#ifdef CAIRN_FIXED
  double const g = cairn::gradient(step, 1.0, 10, 1.0, adjoint);
#else
  double const g = cairn::gradient(step, 1.0, 10, 1.0, adjoint, cairn::object_ends::at_final);
#endif
  return 2 * g > 0 ? 0 : 1;
}
