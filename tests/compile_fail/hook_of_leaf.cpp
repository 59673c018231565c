// error: the hook of an adjoint of leaves must be
// SPDX-License-Identifier: Apache-2.0
#include <cairn/cairn.hpp>

using cairn::step_index;
int main() {
  auto const step = [](double& x) { x *= 1.5; };
  auto const adjoint = [](double, double& bar, step_index first, step_index last) {
    for (step_index i = last; i-- > first;) bar *= 1.5;
  };
#ifdef CAIRN_FIXED
  auto const hook = [](double, double& bar, step_index first, step_index) { bar += double(first); };
#else
  auto const hook = [](double, double& bar, step_index i) { bar += double(i); };
#endif
  return cairn::gradient(step, 1.0, 10, 1.0, cairn::hooked(adjoint, hook)) > 0 ? 0 : 1;
}
