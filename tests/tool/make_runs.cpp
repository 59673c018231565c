// SPDX-License-Identifier: Apache-2.0
// A run on disk that ends as it is told: make_runs DIR START HOW. START is a number of the initial state, HOW is
// finished, forward (killed on its way to the end), reverse (killed on its way back), or held: on its way back it says
// so and waits until its input ends. What it finds of an earlier process goes to standard output.
#include <cairn/adapt/disk.hpp>
#include <cairn/cairn.hpp>
#include <cairn/schedule/multistage.hpp>
#include <cmath>
#include <csignal>
#include <cstdio>
#include <string>
#include <vector>

namespace {

using field = std::vector<double>;
int steps_left = -1, adjoints_left = -1;
bool holds = false;

struct step {
  void operator()(field& x, cairn::step_index) const {
    if (steps_left >= 0 && steps_left-- == 0) (void)std::raise(SIGKILL);
    for (double& v : x) v = std::sin(1.1 * v);
  }
};
struct adjoint {
  void operator()(field const& x, field& bar, cairn::step_index) const {
    if (adjoints_left >= 0 && adjoints_left-- == 0) {
      if (!holds) (void)std::raise(SIGKILL);
      std::puts("held");
      std::fflush(stdout);
      while (std::getchar() != EOF) {}
    }
    for (std::size_t k = 0; k < x.size(); ++k) bar[k] *= 1.1 * std::cos(1.1 * x[k]);
  }
};

}  // namespace

int main(int, char** words) {
  std::string const how = words[3];
  field const x0(1000, std::stod(words[2]));
  if (how == "forward") steps_left = 20;
  if (how == "reverse" || how == "held") adjoints_left = 10;
  holds = how == "held";
  cairn::disk const on{words[1], {.commit_every = 2}};
  auto const bar = cairn::gradient(step{}, x0, cairn::multistage{30, 2, 5}, field(1000, 1.0), adjoint{}, on);
  std::printf("%a %s %lld\n", bar[0],
              on.report().used == cairn::disk_use::nothing  ? "nothing"
              : on.report().used == cairn::disk_use::states ? "states"
                                                            : "record",
              static_cast<long long>(on.report().resumed_at));
}
