// error: this object has a member step\(\) but is not a step itself; pass `loop.step\(\)`
// SPDX-License-Identifier: Apache-2.0
#include <cairn/cairn.hpp>
#include <cairn/run/while.hpp>
#include <cairn/schedule/online.hpp>

int main() {
  cairn::adaptive loop{[](double& x) { x += 0.5; return 0.5; }, [](double& x, double h) { x += h; }};
  auto const keep_going = [](double x) { return x < 3; };
#ifdef CAIRN_FIXED
  auto run = cairn::checkpointed_while(loop.step(), 0.0, keep_going, cairn::online{3});
#else
  auto run = cairn::checkpointed_while(loop, 0.0, keep_going, cairn::online{3});
#endif
  double sum = 0;
  for (auto [i, x] : run.backward()) sum += x * double(i);
  return sum + run.reverse(1.0, loop.with_record([](double, double& bar, double h) { bar *= h; })) > 0 ? 0 : 1;
}
