// SPDX-License-Identifier: Apache-2.0
// cursor_count <schedule> <steps> <slots> <times>: walks a warm cursor so many times and says how many actions that
// were. instructions.py runs it under callgrind with two numbers of times; the difference is what a walk costs.
#include <cstdio>
#include <cstdlib>
#include "plans.hpp"

int main(int argc, char** argv) {
  if (argc != 5) return 2;
  unsigned long actions = 0;
  unsigned long sum = 0;
  bool const known = with_plan(argv[1], std::atoll(argv[2]), std::atoll(argv[3]), [&](auto const& plan) {
    auto cursor = cairn::cursor_of<std::remove_cvref_t<decltype(plan)>>{plan.walk()};
    for (int k = std::atoi(argv[4]); k > 0; --k) {
      cursor = plan.walk();
      sum += walk_through(cursor, actions);
    }
  });
  std::printf("%lu %lu\n", actions, sum);
  return known ? 0 : 2;
}
