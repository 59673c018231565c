// error: with cairn::parallel an adjoint of several steps, which runs them again, does so while the step runs on another thread; if both may run at once, say so by cairn::concurrent\(adjoint\), too
// SPDX-License-Identifier: Apache-2.0
#include <cairn/adapt/threads.hpp>
#include <cairn/run/gradient.hpp>
#include <cairn/schedule/leaves.hpp>

auto const step = cairn::concurrent([](double& x) { x *= 2; });
auto const adjoint = [](double, double& bar, cairn::step_index first, cairn::step_index last) {
  for (; first < last; ++first) bar *= 2;
};
cairn::leaves const plan{10, 2, cairn::uniform{5}};
#ifdef CAIRN_FIXED
int main() {
  return cairn::gradient(step, 1.0, plan, 1.0, cairn::concurrent(adjoint), cairn::parallel{}) > 1000 ? 0 : 1;
}
#else
int main() { return cairn::gradient(step, 1.0, plan, 1.0, adjoint, cairn::parallel{}) > 1000 ? 0 : 1; }
#endif
