// SPDX-License-Identifier: Apache-2.0
// An adjoint that vanishes: `v = 0.9 v + 0.01` on 4,096 floats over 10^4 steps. Its sweep as it is, with a report, which
// counts subnormal numbers, and with `flush_subnormals`, over the same sweep whose adjoint does not vanish. Medians of
// interleaved pairs of user-CPU times.
#include "../pairs.hpp"
#include <cstdio>
#include <vector>
#include <cairn/cairn.hpp>
#include <cairn/run/with/flush_subnormals.hpp>

namespace {

using field = std::vector<float>;
constexpr std::size_t cells = 4096;
constexpr cairn::step_index steps = 10'000;

}  // namespace

int main(int argc, char** argv) {
  int const pairs = asked_times(argc, argv, 9, "pairs of timings");
  float volatile given = 0.9f;
  auto const step = [](field& x) {
    for (float& v : x) v = 0.9f * v + 0.01f;
  };
  auto const by = [](float factor) {
    return [factor](field const&, field& bar) {
      for (float& v : bar) v *= factor;
    };
  };
  auto const vanishes = by(given);
  given = 1.0f;
  auto const stays = by(given);
  field const x0(cells, 1.0f), ones(cells, 1.0f);
  cairn::revolve const plan{steps, 100};
  auto work = cairn::workspace_for<field>(plan);
  cairn::sweep_report report;
  std::vector<double> plain, told, flushed, both;
  auto const sweep = [&](auto const& adjoint, auto&&... more) {
    return timed(thread_seconds, [&] { (void)cairn::gradient(step, x0, plan, ones, adjoint, work, more...); });
  };
  sweep(stays);
  for (int k = 0; k < pairs; ++k) {
    double const base = sweep(stays);
    told.push_back(sweep(stays, report) / base);
    plain.push_back(sweep(vanishes) / base);
    flushed.push_back(sweep(vanishes, cairn::flush_subnormals{}) / base);
    both.push_back(sweep(stays, cairn::flush_subnormals{}) / base);
  }
  sweep(vanishes, report);
  std::printf("%zu floats, %lld steps, %s: user CPU over the sweep whose adjoint does not vanish, medians of %d pairs\n",
              cells, (long long)steps, CAIRN_BENCHMARK_FLAGS, pairs);
  std::printf("that sweep with a report        %6.3f\n", median(told));
  std::printf("that sweep, flush_subnormals    %6.3f\n", median(both));
  std::printf("vanishing                       %6.3f\n", median(plain));
  std::printf("vanishing, flush_subnormals     %6.3f\n", median(flushed));
  std::printf("the report: %llu of %zu numbers are subnormal; %s\n", (unsigned long long)report.subnormals, cells,
              report.advice());
  return report.subnormals == cells ? 0 : 1;
}
