// SPDX-License-Identifier: Apache-2.0
// A run on disk whose disk is copied while it writes, by faults.sh.
//     power_cut FOLDER none|zstd           a run
//     power_cut FOLDER none|zstd check     ends with 0 if the gradient has the bits of one over memory
#include <cmath>
#include <cstdio>
#include <string_view>
#include <vector>
#include <cairn/adapt/disk.hpp>
#include <cairn/adapt/zstd.hpp>
#include <cairn/cairn.hpp>
#include <cairn/planning.hpp>

using numbers = std::vector<double>;
using cairn::step_index;

struct step {
  void operator()(numbers& x, numbers const& p, step_index i) const {
    for (double& v : x) v = std::sin(p[0] * v + p[1]) + 0.001 * double(i % 7);
  }
};
struct adjoint {
  void operator()(numbers const& x, numbers& bar, numbers const& p, numbers& dp, step_index) const {
    for (std::size_t k = 0; k < x.size(); ++k) {
      double const c = bar[k] * std::cos(p[0] * x[k] + p[1]);
      dp[0] += c * x[k];
      dp[1] += c;
      bar[k] = c * p[0];
    }
  }
};

int main(int words, char** word) {
  if (words < 3) return 2;
  step_index const n = 1'000;
  numbers x0(3'000);
  for (std::size_t k = 0; k < x0.size(); ++k) x0[k] = 1e-3 * double(k);
  numbers const seed(x0.size(), 1.0), p{1.1, 0.2};
  auto const gradient = [&](auto const& plan, auto const&... on) {
    numbers dp(2, 7.0), bar = cairn::gradient(step{}, x0, plan, seed, adjoint{}, cairn::wrt{p, dp}, on...);
    bar.insert(bar.end(), dp.begin(), dp.end());
    return bar;
  };
  cairn::hrevolve const plan{n, {{.slots = 3}, {.slots = 12, .write = 2, .read = 2}}};
  cairn::compression const by = word[2] == std::string_view{"zstd"} ? cairn::zstd : nullptr;
  cairn::disk const run{word[1], {.commit_every = 3, .compress = by}};
  numbers const found = gradient(plan, run);
  if (words == 3) return 0;
  bool const right = found == gradient(cairn::in_memory{plan});
  auto const& report = run.report();
  std::printf("%s, from %s %lld\n", right ? "right" : "wrong",
              report.used == cairn::disk_use::record   ? "record"
              : report.used == cairn::disk_use::states ? "states"
                                                       : "nothing",
              static_cast<long long>(report.resumed_at));
  return right ? 0 : 1;
}
