// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file finished_runs.hpp  The end of the oldest runs that are finished.
#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <ctime>
#include <mutex>
#include <string>
#include <unistd.h>
#include <utility>
#include <vector>
#include <cairn/adapt/disk/detail/descriptor.hpp>
#include <cairn/adapt/disk/detail/run_files.hpp>

namespace cairn::detail {

/// What this process has finished or taken of an earlier one: it goes through its runs in an order, in which it goes
/// through them again when it is started again.
class runs_of_process {
 public:
  void finished(run_id const& id) {
    std::lock_guard const held{alone_};
    if (!has(id)) own_.push_back(id);
  }
  void taken(run_id const& id) {
    finished(id);
    any_taken_ = true;
  }
  /// Whether it follows an earlier process: what that one has finished and this one not yet is still to come.
  [[nodiscard]] bool follows() const noexcept { return any_taken_; }
  [[nodiscard]] bool holds(std::string const& name) {
    std::lock_guard const held{alone_};
    for (auto const& one : own_)
      if (name_text(one).data() == name) return true;
    return false;
  }
  [[nodiscard]] static runs_of_process& here() {
    static runs_of_process all;
    std::lock_guard const held{all.alone_};
    if (std::exchange(all.process_, ::getpid()) != ::getpid()) all.own_.clear(), all.any_taken_ = false;  // a child
    return all;
  }

 private:
  [[nodiscard]] bool has(run_id const& id) const noexcept {
    return std::find(own_.begin(), own_.end(), id) != own_.end();
  }
  std::mutex alone_;
  std::vector<run_id> own_;
  std::atomic<bool> any_taken_ = false;
  pid_t process_ = ::getpid();
};

using moment_of_file = std::pair<std::int64_t, std::int64_t>;
/// When the record of a finished run was written; {} if the run is not finished.
[[nodiscard]] inline moment_of_file finished_at(descriptor const& run, std::string const& name) {
  for (char const* const record : record_names)
    if (auto const seen = look_at(run, name, record); seen.use == file_use::whole && seen.head.step == 0)
      return {seen.written.tv_sec, seen.written.tv_nsec};
  return {};
}
/// Removes a run that no other process works on, and its states elsewhere, if is_same(run) still holds then.
template <class IsSame>
void remove_whole(outer_folders const& folders, std::string const& name, IsSame const& is_same) {
  auto const remove = [](descriptor const& in, std::string const& one, auto const& holds) {
    descriptor const run = open_run(in, one);
    run_lock lock;
    if (!run || lock.take(in, one, run, new_owner(), true) != run_lock::answer::taken || !holds(run)) return false;
    remove_run(in, one, run);
    return true;
  };
  if (remove(folders.runs, name, is_same) && folders.scratch)
    (void)remove(folders.scratch, name, [](descriptor const&) { return true; });
}
/// Removes finished runs so that `keep` of them are left: the oldest of those that this process has not come to, unless
/// it follows an earlier process, and has them before it; then the one that it has just finished, `last`, goes. So a
/// program of more than `keep` runs that is started again finds the first `keep` of them.
/// Returns whether `last` may stay.
[[nodiscard]] inline bool remove_finished(outer_folders const& folders, std::size_t keep, run_id const& last) {
  auto& process = runs_of_process::here();
  process.finished(last);
  auto const runs = names_of_runs(folders.runs);
  if (runs.size() <= keep) return true;  // without a look into each
  std::size_t finished = 0;
  std::vector<std::pair<moment_of_file, std::string>> others;
  for (auto const& name : runs)
    if (descriptor const run = open_run(folders.runs, name))
      if (auto const written = finished_at(run, name); written != moment_of_file{}) {
        ++finished;
        if (!process.follows() && !process.holds(name)) others.emplace_back(written, name);
      }
  if (finished <= keep) return true;
  std::size_t const most = finished - keep;
  std::sort(others.begin(), others.end());
  if (others.size() > most) others.resize(most);
  for (auto const& other : others)
    remove_whole(folders, other.second,
                 [&](descriptor const& run) { return finished_at(run, other.second) == other.first; });
  return others.size() == most;
}
/// Removes runs that are not finished and to which nothing was written for so many seconds; once in a process for each
/// folder.
inline void remove_forgotten(outer_folders const& folders, std::string const& path, double seconds) {
  static std::mutex alone;
  static std::vector<std::string> looked_at;
  {
    std::lock_guard const held{alone};
    if (std::find(looked_at.begin(), looked_at.end(), path) != looked_at.end()) return;
    looked_at.push_back(path);
  }
  auto const is_forgotten = [seconds](descriptor const& run, std::string const& name) {
    std::int64_t others = 0, last = 0;
    for (auto const& file : files_of_run(run, name, bytes_read::none, others))
      last = (std::max)(last, std::int64_t(file.written.tv_sec));
    return finished_at(run, name) == moment_of_file{} && double(std::time(nullptr) - last) >= seconds;
  };
  for (auto const& name : names_of_runs(folders.runs))
    if (descriptor const run = open_run(folders.runs, name); run && is_forgotten(run, name))
      remove_whole(folders, name, [&](descriptor const& now) { return is_forgotten(now, name); });
}

}  // namespace cairn::detail
