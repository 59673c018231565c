// error: the sixth argument of resume must be the workspace of the sweep that stopped
// SPDX-License-Identifier: Apache-2.0
#include <cairn/cairn.hpp>

int main() {
  auto const step = [](double& x) { x *= 1.5; };
  auto const adjoint = [](double, double& bar) { bar *= 1.5; };
  cairn::uniform const plan{10};
#ifdef CAIRN_FIXED
  auto work = cairn::workspace_for<double>(plan);
#else
  cairn::memory_store work;
#endif
  return cairn::resume(step, 1.0, plan, cairn::resume_point{4, 2.0}, adjoint, work) > 0 ? 0 : 1;
}
