// SPDX-License-Identifier: Apache-2.0
// A run on disk in whose middle something happens: its process is killed, or looks at it.
#pragma once
#include <cmath>
#include <csignal>
#include <cstddef>
#include <functional>
#include <string>
#include <utility>
#include <vector>
#include <cairn/adapt/disk.hpp>
#include <cairn/cairn.hpp>
#include <cairn/schedule/multistage.hpp>

namespace ended_run {

using field = std::vector<double>;
inline int steps_left = -1, adjoints_left = -1;
inline std::function<void()> happens{};
inline void die() { (void)std::raise(SIGKILL); }

struct step {
  void operator()(field& x, cairn::step_index) const {
    if (steps_left >= 0 && steps_left-- == 0) happens();
    for (double& v : x) v = std::sin(1.1 * v);
  }
};
struct adjoint {
  void operator()(field const& x, field& bar, cairn::step_index) const {
    if (adjoints_left >= 0 && adjoints_left-- == 0) happens();
    for (std::size_t k = 0; k < x.size(); ++k) bar[k] *= 1.1 * std::cos(1.1 * x[k]);
  }
};

enum class place { nowhere, forward, back };
struct outcome {
  double bar;
  cairn::disk_report report;
};
/// \param start  a number of the initial state: another one is another run
/// \param where, what  something that happens on the way to the end, or on the way back
inline outcome run(std::string const& folder, double start, place where = place::nowhere,
                   std::function<void()> what = die) {
  steps_left = where == place::forward ? 20 : -1;
  adjoints_left = where == place::back ? 10 : -1;
  happens = std::move(what);
  cairn::disk const on{folder, {.commit_every = 2}};
  field const x0(1000, start);
  auto const bar = cairn::gradient(step{}, x0, cairn::multistage{30, 2, 5}, field(1000, 1.0), adjoint{}, on);
  return {bar[0], on.report()};
}

}  // namespace ended_run
