// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file stored_runs.hpp  What the folder of a `disk` holds, and the removal of what no process needs any more.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <ctime>
#include <fcntl.h>
#include <optional>
#include <string>
#include <sys/stat.h>
#include <unistd.h>
#include <utility>
#include <vector>
#include <cairn/adapt/disk/detail/descriptor.hpp>
#include <cairn/adapt/disk/detail/run_files.hpp>
#include <cairn/core/action.hpp>

namespace cairn {

/// What the folder of one run holds.
struct stored_run {
  std::string id;                ///< the name of its folder
  step_index steps = -1;         ///< of its loop; -1: no file of it says so, or its length is not known
  step_index left = -1;          ///< by its last record, steps [0, left) are to be reversed; 0: finished; -1: no record
  std::int64_t checkpoints = 0;  ///< states that can be used, the final one of a kept run among them
  std::uint64_t checkpoint_bytes = 0;  ///< of their files
  std::uint64_t record_bytes = 0;      ///< of its records, and of what its steps chose
  std::uint64_t unwritten_bytes = 0;   ///< room that is taken for checkpoints and was not written yet
  std::int64_t written = 0;            ///< when a file of it was last written, in seconds since 1970
  bool held = false;                   ///< whether a process works on it
  std::string owner = {};              ///< host and number of the process that had it last
  std::vector<std::string> damaged = {};  ///< files that nobody can use
  std::vector<std::string> unknown = {};  ///< files of another version, kind of machine or user, or not to be read
  std::int64_t others = 0;                ///< files with names that are not cairn's
};

/// What of a folder is to be removed: whole runs, if one of these is given; each that is given must hold.
struct removal_rule {
  std::optional<std::int64_t> keep = {};        ///< finished runs, but not so many that were written last
  std::optional<std::int64_t> older_than = {};  ///< runs that were not written for so many seconds
  bool really = false;                          ///< remove them; otherwise only say which
};

/// Why something of a run is removed.
enum class removal_reason : std::uint8_t {
  finished,    ///< all of a finished run
  unfinished,  ///< all of one that is not finished
  unusable,    ///< all of one of which nothing can be used
  left_over    ///< what it does not need: checkpoints beside its last record, room not written, damaged files
};
/// What is removed of one run.
struct removed_run {
  std::string id;                                     ///< the name of its folder
  removal_reason why = removal_reason::left_over;     ///< and how much of it
  std::int64_t files = 0;                             ///< how many, its lock not counted
  std::uint64_t bytes = 0;                            ///< of these
};

namespace detail {

/// The folder that was given to a `disk`.   \throws file_error
[[nodiscard]] inline descriptor open_runs(std::string path) {
  while (path.size() > 1 && path.back() == '/') path.pop_back();  // it may be a link
  descriptor outer = open_folder_as_it_is(AT_FDCWD, path.c_str(), 0);
  struct stat now {};
  if (int const number = errno; !outer)
    refuse_file(number == ENOENT    ? is_link(AT_FDCWD, path) ? "the folder of runs is a link that leads nowhere"
                                                              : "there is no such folder of runs"
                : number == ENOTDIR ? "this is not a folder of runs"
                                    : "a folder of runs cannot be opened",
                number, path, number == ENOENT ? "give the folder that a disk was given" : "");
  if (::fstat(outer.get(), &now) != 0) refuse_file("a folder of runs cannot be read", errno, path);
  if (now.st_uid != ::geteuid()) refuse_file("a folder of runs belongs to another user", EPERM, path);
  return outer;
}

/// A run as it is now.
struct run_view {
  stored_run seen;
  std::vector<seen_file> files;
  bool chosen = false;  ///< whether it has choices of steps, which are of use without states, too
  bool finished() const noexcept { return seen.left == 0; }
  bool usable() const noexcept { return seen.left >= 0 || seen.checkpoints > 0 || chosen || !seen.unknown.empty(); }
  /// Whether a file is of no use to whoever goes on with the run.
  bool spare(seen_file const& file) const noexcept {
    bool const checkpoint = file.use == file_use::whole && file.head.kind == file_kind::checkpoint;
    return file.use == file_use::damaged || file.use == file_use::unwritten || (checkpoint && finished());
  }
};
[[nodiscard]] inline run_view view_of(descriptor const& run, std::string const& id, bytes_read what) {
  run_view view;
  stored_run& of = view.seen;
  of.id = id;
  view.files = files_of_run(run, id, what, of.others);
  std::uint64_t last = 0;
  for (auto const& file : view.files) {
    of.written = (std::max)(of.written, std::int64_t(file.written.tv_sec));
    if (file.use == file_use::damaged) of.damaged.push_back(file.name);
    else if (file.use == file_use::unknown) of.unknown.push_back(file.name);
    else if (file.use == file_use::unwritten) of.unwritten_bytes += file.bytes;
    else {
      of.steps = file.head.steps < std::uint64_t(INT64_MAX) ? step_index(file.head.steps) : -1;
      if (file.head.kind == file_kind::checkpoint) ++of.checkpoints, of.checkpoint_bytes += file.bytes;
      else of.record_bytes += file.bytes;
      view.chosen = view.chosen || file.head.kind == file_kind::choices;
      if (file.head.kind == file_kind::record && file.head.sequence > last)
        last = file.head.sequence, of.left = step_index(file.head.step);
    }
  }
  return view;
}
/// A look without the lock.
[[nodiscard]] inline std::optional<run_view> view_from_outside(descriptor const& outer, std::string const& id,
                                                               bool contents) {
  descriptor const run = open_run(outer, id);
  if (!run) return {};
  bool held = false;
  std::string owner;
  if (descriptor const lock = open_in(run, "lock", O_RDONLY)) {
    held = is_held(run, lock);
    if (auto const text = text_of(lock)) owner = text->first_line();
  }
  auto view = view_of(run, id, contents && !held ? bytes_read::all : bytes_read::none);  // else it is being written
  view.seen.held = held;
  view.seen.owner = std::move(owner);
  return view;
}

}  // namespace detail

/// The runs in the folder of a `disk`, in the order of their names. Nothing is changed, and no link in it is followed.
/// \param path  of the folder that the `disk` was given, which may be a link
/// \param contents  reads all bytes of the runs that no process works on, so that damage within a file is found, too;
/// otherwise only the first 128 bytes of each
/// \throws file_error   if it is not a folder, or another user's
[[nodiscard]] inline std::vector<stored_run> stored_runs(std::string const& path, bool contents = false) {
  auto const outer = detail::open_runs(path);
  std::vector<stored_run> all;
  for (auto const& id : detail::names_of_runs(outer))
    if (auto view = detail::view_from_outside(outer, id, contents)) all.push_back(std::move(view->seen));
  return all;
}

/// Removes what no process needs any more: checkpoints beside the record of a finished run, room for checkpoints that
/// was never written, damaged files, runs of which nothing can be used; and whole runs, as the rule says. Never
/// anything of a run that a process works on, nor a file whose name is not cairn's, nor, but with a whole run, a file
/// of another version or kind of machine.
/// \param path  of the folder that a `disk` was given
/// \returns what was removed, or would be if `rule.really` is false
/// \throws file_error   if it is not a folder, or another user's
inline std::vector<removed_run> remove_runs(std::string const& path, removal_rule const& rule) {
  using namespace detail;
  auto const outer = open_runs(path);
  struct chosen {
    std::string id;
    bool whole;            // all of it goes
    std::int64_t written;  // unless somebody has it meanwhile
  };
  std::vector<chosen> all;
  auto const now = std::int64_t(std::time(nullptr));
  {
    std::vector<stored_run> seen;
    for (auto const& id : names_of_runs(outer))
      if (auto view = view_from_outside(outer, id, false); view && !view->seen.held) seen.push_back(view->seen);
    std::stable_sort(seen.begin(), seen.end(), [](auto const& a, auto const& b) { return a.written > b.written; });
    std::int64_t finished = 0;
    for (auto const& run : seen) {
      bool const kept = rule.keep && (run.left != 0 || finished++ < *rule.keep);
      bool const young = rule.older_than && now - run.written < *rule.older_than;
      all.push_back({run.id, (rule.keep || rule.older_than) && !kept && !young, run.written});
    }
    std::sort(all.begin(), all.end(), [](auto const& a, auto const& b) { return a.id < b.id; });
  }
  std::vector<removed_run> removed;
  for (auto const& [id, asked, written] : all) {
    descriptor const run = open_run(outer, id);
    run_lock lock;
    if (!run || (rule.really && lock.take(outer, id, run, new_owner(), true) != run_lock::answer::taken)) continue;
    auto view = view_of(run, id, bytes_read::none);
    bool const whole = asked && view.seen.written == written;
    if (view.finished() && view.seen.checkpoints > 0 && !whole)  // without its record they are all that it has
      view = view_of(run, id, bytes_read::records);
    removed_run gone{id};
    bool const useless = !view.usable();
    if (whole || useless)
      gone.why = useless           ? removal_reason::unusable
                 : view.finished() ? removal_reason::finished
                                   : removal_reason::unfinished;
    bool const all_of_it = gone.why != removal_reason::left_over;
    for (auto const& file : view.files) {
      if (!all_of_it && !view.spare(file)) continue;
      if (rule.really && !all_of_it && ::unlinkat(run.get(), file.name.c_str(), 0) != 0) continue;
      ++gone.files;
      gone.bytes += file.bytes;
    }
    if (rule.really && all_of_it) remove_run(outer, id, run);
    if (gone.files > 0 || (all_of_it && view.seen.others == 0)) removed.push_back(std::move(gone));
  }
  return removed;
}

}  // namespace cairn
