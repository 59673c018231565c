// error: a loop of unknown length that stopped on its way forward needs its condition to go on
// SPDX-License-Identifier: Apache-2.0
#include <cairn/cairn.hpp>

int main() {
  auto const step = [](double& x) { x *= 1.5; };
  auto const adjoint = [](double, double& bar) { bar *= 1.5; };
  cairn::online const plan{3};
  auto work = cairn::workspace_for<double>(plan);
#ifdef CAIRN_FIXED
  return cairn::resume(step, 1.0, plan, cairn::resume_point{4, 2.0, 10}, adjoint, work) > 0 ? 0 : 1;
#else
  return cairn::resume(step, 1.0, plan, 2.0, adjoint, work) > 0 ? 0 : 1;
#endif
}
