// error: with cairn::parallel the step runs on one thread while the adjoint runs on another; if they share nothing that one of them changes, say so by cairn::concurrent\(step\), or a member `static constexpr bool concurrent = true`
// SPDX-License-Identifier: Apache-2.0
#include <cairn/adapt/threads.hpp>
#include <cairn/run/gradient.hpp>

auto const step = [](double& x) { x *= 2; };
auto const adjoint = [](double, double& bar) { bar *= 2; };
#ifdef CAIRN_FIXED
int main() {
  return cairn::gradient(cairn::concurrent(step), 1.0, 10, 1.0, adjoint, cairn::parallel{}) > 1000 ? 0 : 1;
}
#else
int main() { return cairn::gradient(step, 1.0, 10, 1.0, adjoint, cairn::parallel{}) > 1000 ? 0 : 1; }
#endif
