// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file finished_runs.hpp  The end of the oldest runs that are finished.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>
#include <cairn/adapt/disk/detail/descriptor.hpp>
#include <cairn/adapt/disk/detail/run_files.hpp>

namespace cairn::detail {

/// Removes the oldest runs that are finished, and states of theirs, so that `keep` of them are left. What another process works on, what is
/// not finished and what has other names stays.
inline void remove_finished(outer_folders const& folders, std::size_t keep) {
  descriptor const& outer = folders.runs;
  using moment = std::pair<std::int64_t, std::int64_t>;
  struct finished {
    moment written;
    std::string name;
    [[nodiscard]] bool operator<(finished const& other) const noexcept { return written < other.written; }
  };
  auto const finished_at = [](descriptor const& run, std::string const& name) -> moment {  // {}: it is not finished
    for (char const* const record : record_names)
      if (auto const seen = look_at(run, name, record); seen.use == file_use::whole && seen.head.step == 0)
        return {seen.written.tv_sec, seen.written.tv_nsec};
    return {};
  };
  std::vector<finished> all;
  auto const runs = names_of_runs(outer);
  if (runs.size() <= keep) return;  // without a look into each
  for (auto const& name : runs)
    if (descriptor const run = open_run(outer, name))
      if (auto const written = finished_at(run, name); written != moment{}) all.push_back({written, name});
  if (all.size() <= keep) return;
  std::sort(all.begin(), all.end());
  all.resize(all.size() - keep);
  auto const remove = [](descriptor const& in, std::string const& name, auto const& is_same) {
    descriptor const run = open_run(in, name);
    run_lock lock;
    if (run && lock.take(in, name, run, new_owner(), true) == run_lock::answer::taken && is_same(run))
      remove_run(in, name, run);
  };
  for (auto const& one : all) {
    bool is_same = false;
    remove(outer, one.name, [&](descriptor const& run) {
      return is_same = finished_at(run, one.name) == one.written;  // nobody had it meanwhile
    });
    if (is_same && folders.scratch) remove(folders.scratch, one.name, [](auto const&) { return true; });
  }
}

}  // namespace cairn::detail
