// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file usage.hpp  What a piece of a program takes: time of its own code, and how far it lifts the resident memory.
#include <cstdio>
#include <utility>
#include <sys/resource.h>

struct usage {
  double seconds = 0;
  double megabytes = 0;
};

/// What `work()` returns, and what it took. The rise is beyond all that has run before in this process, so the smaller
/// piece of work has to come first.
template <class Work>
[[nodiscard]] auto measured(Work const& work) {
  auto const now = [] {
    rusage used{};
    getrusage(RUSAGE_SELF, &used);
    return usage{double(used.ru_utime.tv_sec) + 1e-6 * double(used.ru_utime.tv_usec), double(used.ru_maxrss) / 1024};
  };
  auto const before = now();
  auto found = work();
  auto const after = now();
  return std::pair{std::move(found), usage{after.seconds - before.seconds, after.megabytes - before.megabytes}};
}
