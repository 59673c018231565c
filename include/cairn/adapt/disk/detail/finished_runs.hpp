// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file finished_runs.hpp  The folders of runs that are finished, and the end of the oldest of them.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <fcntl.h>
#include <string>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>
#include <utility>
#include <vector>
#include <cairn/adapt/disk/detail/descriptor.hpp>
#include <cairn/adapt/disk/detail/file_head.hpp>
#include <cairn/adapt/disk/detail/names.hpp>

namespace cairn::detail {

/// Whether a name is that of a run: 32 hexadecimal digits.
[[nodiscard]] inline bool is_run_name(std::string const& name) noexcept {
  return name.size() == 32 && name.find_first_not_of("0123456789abcdef") == name.npos;
}
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
  auto const open_run = [&](std::string const& name) {
    return open_folder_as_it_is(outer.get(), name.c_str(), O_NOFOLLOW);
  };
  std::vector<std::string> runs;
  each_name(outer, [&](std::string const& name) {
    if (is_run_name(name)) runs.push_back(name);
  });
  if (runs.size() <= keep) return;  // without a look into each
  for (auto const& name : runs) {
    descriptor const run = open_run(name);
    if (!run) continue;
    for (char const* const record : {"record0", "record1"}) {
      descriptor const file = open_in(run, record, O_RDONLY);
      file_head head;
      struct stat now {};
      if (!file || read_at(file.get(), &head, sizeof head, 0) != 0 || !head.sound()) continue;
      if (head.kind != file_kind::record || head.step != 0 || ::fstat(file.get(), &now) != 0) continue;
      all.push_back({now.st_mtim.tv_sec, now.st_mtim.tv_nsec, name});
      break;
    }
  }
  if (all.size() <= keep) return;
  std::sort(all.begin(), all.end());
  all.resize(all.size() - keep);
  for (auto const& one : all) {
    descriptor const run = open_run(one.name);
    descriptor const lock = open_in(run, "lock", O_RDWR);
    if (!lock || ::flock(lock.get(), LOCK_EX | LOCK_NB) != 0) continue;
    std::vector<std::string> files;
    each_name(run, [&](std::string const& name) {
      if (is_file_of_run(name)) files.push_back(name);
    });
    for (auto const& name : files) (void)::unlinkat(run.get(), name.c_str(), 0);
    (void)::unlinkat(outer.get(), one.name.c_str(), AT_REMOVEDIR);  // stays if something else is in it
  }
}

}  // namespace cairn::detail
