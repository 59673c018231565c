// SPDX-License-Identifier: Apache-2.0
// Gray-Scott on 64 x 64 cells, 1,000 steps, a misfit at every tenth, three parameters, within 16 MB: by hand and by
// ADOL-C. Prints the bytes of the heap and of resident memory, which C code such as ADOL-C's takes, too, and how far
// the two gradients are apart.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <malloc.h>
#include <cairn/adapt/ad.hpp>
#include <cairn/adapt/adolc.hpp>
#include <cairn/cairn.hpp>
#include "../../tests/support/gray_scott.hpp"
#include "../../tests/support/heap.hpp"

namespace {

/// A number of kB in /proc/self/status.
long long status(char const* word) {
  long long kilobytes = 0;
  if (std::FILE* file = std::fopen("/proc/self/status", "r")) {
    char line[256];
    while (std::fgets(line, sizeof line, file) != nullptr)
      if (std::strncmp(line, word, std::strlen(word)) == 0) std::sscanf(line + std::strlen(word), "%lld", &kilobytes);
    std::fclose(file);
  }
  return 1024 * kilobytes;
}
/// The peak begins here, without what an earlier measurement has freed.
void forget_peak() {
  (void)malloc_trim(0);
  if (std::FILE* file = std::fopen("/proc/self/clear_refs", "w")) {
    std::fputs("5", file);
    std::fclose(file);
  }
}

template <class Run>
auto measured(char const* name, Run run) {
  forget_peak();
  heap::mark const heap;
  long long const resident = status("VmRSS:");
  cairn::sweep_report report;
  auto found = run(report);
  std::printf("%-8s value %.12f, by p %.12f %.12f %.12f; %lld slots, %lld step calls; heap %.3f MB, resident %.3f MB\n",
              name, found.value, found.params.feed, found.params.kill, found.params.spread, (long long)report.slots,
              (long long)report.step_calls, double(heap.rise()) / 1e6, double(status("VmHWM:") - resident) / 1e6);
  return found;
}

}  // namespace

int main() {
  auto const x0 = gray_scott::start(64);
  cairn::budget_of const budget{1'000, "16MB"};
  auto const objective = cairn::at_every(10, gray_scott::misfit{});
  auto const hand = measured("by hand", [&](auto& report) {
    return cairn::differentiate(cairn::model{gray_scott::step{}, gray_scott::step_back{}}, x0, gray_scott::at, budget,
                                objective, report);
  });
  // its code and tables are in memory then
  (void)cairn::differentiate(cairn::by_tool(cairn::adolc_tape{}, gray_scott::step{}), gray_scott::start(8),
                             gray_scott::at, cairn::budget_of{20, "4MB"}, objective);
  auto const tool = measured("ADOL-C", [&](auto& report) {
    return cairn::differentiate(cairn::by_tool(cairn::adolc_tape{}, gray_scott::step{}), x0, gray_scott::at, budget,
                                objective, report);
  });
  double off = 0, most = 0;
  for (std::size_t k = 0; k < x0.size(); ++k) {
    off = std::max(off, std::abs(hand.state[k] - tool.state[k]));
    most = std::max(most, std::abs(hand.state[k]));
  }
  gray_scott::rates<double> const &a = hand.params, &b = tool.params;
  double const by_p = std::max({std::abs(a.feed - b.feed), std::abs(a.kill - b.kill), std::abs(a.spread - b.spread)}) /
                      std::max({std::abs(a.feed), std::abs(a.kill), std::abs(a.spread)});
  std::printf("largest difference over the largest number: by x0 %.1e, by p %.1e\n", off / most, by_p);
  return off <= 1e-12 * most && by_p <= 1e-12 ? 0 : 1;
}
