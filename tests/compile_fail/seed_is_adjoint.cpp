// error: the seed must be the adjoint of the final state, or `seed\(x\)`
// SPDX-License-Identifier: Apache-2.0
#include <cairn/cairn.hpp>

auto const step = [](double& x) { x *= x; };
auto const adjoint = [](auto const& x, auto& bar) { bar *= 2 * x; };
auto const observer = [](cairn::event const&) {};
int main() {
#ifdef CAIRN_FIXED
  double const g = cairn::gradient(step, 2.0, 10, 1.0, adjoint, observer);
#else
  double const g = cairn::gradient(step, 2.0, 10, adjoint, observer);
#endif
  return 2 * g > g ? 0 : 1;
}
