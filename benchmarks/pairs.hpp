// SPDX-License-Identifier: Apache-2.0
#pragma once
// Pairs of timings that take turns, so that what else the machine does cancels.
#include "median.hpp"
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <sys/resource.h>
#include <utility>
#include <vector>

struct cpu_seconds {
  double user = 0, system = 0;
};
/// CPU time of the process.
inline cpu_seconds process_seconds() {
  rusage used{};
  getrusage(RUSAGE_SELF, &used);
  auto const seconds = [](timeval const& t) { return double(t.tv_sec) + 1e-6 * double(t.tv_usec); };
  return {seconds(used.ru_utime), seconds(used.ru_stime)};
}
/// CPU time of this thread, user and system.
inline double thread_seconds() {
  timespec used{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used);
  return double(used.tv_sec) + 1e-9 * double(used.tv_nsec);
}
inline double wall_seconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

template <class Clock, class F>
double timed(Clock now, F&& f) {
  double const before = now();
  f();
  return now() - before;
}

/// Times of one work and of another that it is compared with, and the ratio of each pair.
struct paired_times {
  std::vector<double> base, own, ratios;
  template <class Clock, class Base, class Own>
  paired_times(int pairs, Clock now, Base const& run_base, Own const& run_own) {
    for (int k = 0; k < pairs; ++k) {
      base.push_back(timed(now, run_base));
      own.push_back(timed(now, run_own));
      ratios.push_back(own.back() / base.back());
    }
  }
  /// The least ratio and the largest.
  [[nodiscard]] std::pair<double, double> spread() const {
    auto const [low, high] = std::minmax_element(ratios.begin(), ratios.end());
    return {*low, *high};
  }
};

/// How often to time: the first argument, or `usual`. A number below 1 ends the program.
inline int asked_times(int count, char** words, int usual, char const* what) {
  int const times = count > 1 ? std::atoi(words[1]) : usual;
  if (times >= 1) return times;
  std::fprintf(stderr, "%s: '%s' is no number of %s; give 1 or more, or nothing for %d\n", words[0], words[1], what,
               usual);
  std::exit(2);
}
