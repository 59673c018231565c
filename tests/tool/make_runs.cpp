// SPDX-License-Identifier: Apache-2.0
// A run on disk that ends as it is told: make_runs DIR START HOW. START is a number of the initial state, HOW is
// finished, forward (killed on its way to the end), reverse (killed on its way back), or held: on its way back it says
// so and waits until its input ends.
#include "support/ended_run.hpp"
#include <cstdio>
#include <string>

int main(int, char** words) {
  using ended_run::place;
  std::string const how = words[3];
  auto const hold = [] {
    std::puts("held");
    std::fflush(stdout);
    while (std::getchar() != EOF) {}
  };
  place const where = how == "finished" ? place::nowhere : how == "forward" ? place::forward : place::back;
  if (how == "held") (void)ended_run::run(words[1], std::stod(words[2]), where, hold);
  else (void)ended_run::run(words[1], std::stod(words[2]), where);
}
