// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file finished_runs.hpp  The end of the oldest runs that are finished.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <fcntl.h>
#include <string>
#include <sys/file.h>
#include <utility>
#include <vector>
#include <cairn/adapt/disk/detail/descriptor.hpp>
#include <cairn/adapt/disk/detail/run_files.hpp>

namespace cairn::detail {

/// Removes the oldest runs that are finished, so that `keep` of them are left. What another process works on, what is
/// not finished and what has other names stays.
inline void remove_finished(descriptor const& outer, std::size_t keep) {
  struct finished {
    std::int64_t seconds, nanoseconds;
    std::string name;
    [[nodiscard]] bool operator<(finished const& other) const noexcept {
      return std::pair{seconds, nanoseconds} < std::pair{other.seconds, other.nanoseconds};
    }
  };
  std::vector<finished> all;
  auto const runs = names_of_runs(outer);
  if (runs.size() <= keep) return;  // without a look into each
  for (auto const& name : runs) {
    descriptor const run = open_run(outer, name);
    if (!run) continue;
    for (char const* const record : record_names) {
      auto const seen = look_at(run, name, record);
      if (seen.use != file_use::whole || seen.head.step != 0) continue;
      all.push_back({seen.written.tv_sec, seen.written.tv_nsec, name});
      break;
    }
  }
  if (all.size() <= keep) return;
  std::sort(all.begin(), all.end());
  all.resize(all.size() - keep);
  for (auto const& one : all) {
    descriptor const run = open_run(outer, one.name);
    descriptor const lock = open_in(run, "lock", O_RDWR);
    if (lock && takes_lock(lock, LOCK_EX)) remove_run(outer, one.name, run);
  }
}

}  // namespace cairn::detail
