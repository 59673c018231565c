// SPDX-License-Identifier: Apache-2.0
#include "deadline_timer.hpp"

#include <cstdio>

#include "keys.hpp"
#include "numbers.hpp"
#include "wrong_request.hpp"

namespace tool {

void deadline_timer::check(char const* what, double share) {
  if (!is_over(what, share)) return;
  throw out_of_time{text() + ", and " + what + " takes longer" +
                    (share < 0 ? "" : ": " + fixed(100 * share) + " % is made") +
                    "; give more, or fewer steps, slots or units"};
}

double deadline_timer::left() const {
  return limit_ - std::chrono::duration<double>(clock::now() - start_).count();
}

bool deadline_timer::is_over(char const* what, double share) {
  double const seconds = std::chrono::duration<double>(clock::now() - start_).count();
  if (seconds >= limit_) return true;
  if (seconds < next_word_) return false;
  while (next_word_ <= seconds) next_word_ *= 2;
  std::string const made = share < 0 ? "" : ", " + fixed(100 * share) + " % of " + what;
  std::fprintf(stderr, "cairn: %.0f s%s\n", seconds, made.c_str());
  return false;
}

std::string deadline_timer::text() const { return worded("$time_limit is ") + fixed(limit_) + " s"; }

}  // namespace tool
