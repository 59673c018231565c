// error: the plan must be a whole number of steps, or a schedule
// SPDX-License-Identifier: Apache-2.0
#include <cairn/cairn.hpp>
#include <vector>

using vec = std::vector<double>;
auto const step = [](vec& x, cairn::step_index) { x[0] *= x[0]; };
auto const adjoint = [](vec const& x, vec& bar, cairn::step_index) { bar[0] *= x[0]; };
#ifdef CAIRN_FIXED
auto const plan = 10;
#else
auto const plan = true;
#endif
struct counter {
  cairn::step_index steps() const { return 3; }
};
static_assert(!cairn::detail::plan_or_steps<double> && !cairn::detail::plan_or_steps<counter>);
int main() {
  auto g = cairn::gradient(step, vec{2.0}, plan, vec{1.0}, adjoint);
  for (double& v : g) v *= 2;
  return g.size() > 1 || g[0] > 0 ? 0 : 1;
}
