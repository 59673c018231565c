// error: the step comes first, and then the initial state
// SPDX-License-Identifier: Apache-2.0
#include <cairn/cairn.hpp>
#include <vector>

using vec = std::vector<double>;
auto const step = [](auto& x) { x[0] *= 0.5; };
auto const typed = [](vec& x, cairn::step_index) { x[0] *= 0.5; };
static_assert(cairn::detail::swapped<vec, decltype(typed)>());
int main() {
#ifdef CAIRN_FIXED
  auto run = cairn::checkpointed_loop(step, vec{2.0}, 10);
#else
  auto run = cairn::checkpointed_loop(vec{2.0}, step, 10);
#endif
  double sum = run.final_state()[0] + run.at(3)[0];
  for (auto [i, x] : run.backward()) sum += x[0] + double(i);
  for (auto [position, x] : run.checkpoints()) sum += x[0] + double(position);
  auto const bar = run.reverse([](vec const& x) { return x; }, [](vec const&, vec& b) { b[0] *= 0.5; });
  return sum + bar[0] + double(run.steps()) + double(run.failure().step) > 0 ? 0 : 1;
}
