// SPDX-License-Identifier: Apache-2.0
// Makes the plans that need a table; see tables.py. For each a line: kind, steps, slots of each tier, seconds of user
// CPU, cost without turns.
#include <sys/resource.h>
#include <cstdio>
#include <cairn/schedule/disk_revolve.hpp>
#include <cairn/schedule/hrevolve.hpp>
#include <cairn/schedule/multistage.hpp>

namespace {

double user_seconds() {
  rusage used{};
  getrusage(RUSAGE_SELF, &used);
  return double(used.ru_utime.tv_sec) + 1e-6 * double(used.ru_utime.tv_usec);
}

/// The least of seven means, each over about a tenth of a second.
template <class Make>
double seconds(Make make) {
  double least = 1e9;
  for (int sample = 0; sample < 7; ++sample) {
    int made = 0;
    double const start = user_seconds();
    double spent = 0;
    while (spent < 0.1) {
      auto const plan = make();
      ++made;
      spent = user_seconds() - start;
    }
    if (spent / made < least) least = spent / made;
  }
  return least;
}

template <class Make>
void line(char const* kind, cairn::step_index n, cairn::slot_index s, Make make) {
  double cost = 0;
  if constexpr (requires { make().cost(); }) cost = make().cost_without_turns();
  std::printf("%s %lld %lld %.9f %.17g\n", kind, static_cast<long long>(n), static_cast<long long>(s), seconds(make),
              cost);
}

}  // namespace

int main() {
  struct size { cairn::step_index n; cairn::slot_index s; };
  for (size const of : {size{1'000, 5}, size{10'000, 10}}) {
    line("hrevolve", of.n, of.s, [of] { return cairn::hrevolve{of.n, {{of.s}, {of.s, 2, 3}}}; });
    line("disk_revolve", of.n, of.s, [of] {
      return cairn::disk_revolve{of.n, of.s, {.disk_write = 2, .disk_read = 3}};
    });
    line("multistage", of.n, of.s, [of] { return cairn::multistage{of.n, of.s, of.s}; });
  }
}
