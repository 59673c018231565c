// error: cairn::recorded needs `tape = record\(x, i\)`
// SPDX-License-Identifier: Apache-2.0
#include <cairn/cairn.hpp>
#include <utility>

auto const step = [](double& x) { x *= x; };
#ifdef CAIRN_FIXED
auto const adjoint =
    cairn::recorded{[](double& x) { return std::exchange(x, x * x); }, [](double x, double& bar) { bar *= 2 * x; }};
#else
auto const adjoint = cairn::recorded{[](double& x) { return std::exchange(x, x * x); },
                                     [](double x, double& bar, double*) { bar *= 2 * x; }};
#endif
int main() {
  double const g = cairn::gradient(step, 0.5, 10, 1.0, adjoint);
  return 2 * g > 0 ? 0 : 1;
}
