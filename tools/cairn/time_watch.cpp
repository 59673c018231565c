#include "time_watch.hpp"

#include <cstdio>

#include "numbers.hpp"
#include "wrong_request.hpp"

namespace tool {

void time_watch::check(char const* what, double share) {
  double const seconds = std::chrono::duration<double>(clock::now() - start_).count();
  std::string const far = share < 0 ? "" : ", " + fixed(100 * share) + " % of " + what;
  if (seconds >= limit_)
    throw wrong_request{"time_limit is " + fixed(limit_) + " s, and " + what + " takes longer" + (share < 0 ? "" : ": " + fixed(100 * share) + " % is made") +
                        "; give more, or fewer steps, slots or units"};
  if (seconds < next_word_) return;
  while (next_word_ <= seconds) next_word_ *= 2;
  std::fprintf(stderr, "cairn: %.0f s%s\n", seconds, far.c_str());
}

}  // namespace tool
