// error: give cairn::uniform\{n, \{.checkpoints = count\}\} as the third argument
// SPDX-License-Identifier: Apache-2.0
#include <cairn/cairn.hpp>

auto const step = [](double& x) { x *= 2; };
int main() {
#ifdef CAIRN_FIXED
  auto run = cairn::checkpointed_loop(step, 1.0, cairn::uniform{10, {.checkpoints = 7}});
#else
  auto run = cairn::checkpointed_loop(step, 1.0, 10, 7);
#endif
  double sum = run.at(3);
#ifndef __CUDACC__  // nvcc 13 stops with an internal error at structured bindings of any run
  auto& [last, checkpoints] = run;
  for (auto [position, x] : checkpoints) sum += last + x + double(position);
#endif
  return sum > 0 ? 0 : 1;
}
