// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file run_files.hpp  The folders of runs as whoever looks at them from outside sees them, and their end.
#include <algorithm>
#include <array>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <ctime>
#include <fcntl.h>
#include <optional>
#include <string>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>
#include <vector>
#include <cairn/adapt/disk/detail/descriptor.hpp>
#include <cairn/adapt/disk/detail/file_head.hpp>
#include <cairn/adapt/disk/detail/run_folder.hpp>
#include <cairn/adapt/disk/detail/run_name.hpp>
#include <cairn/adapt/disk/detail/state_file.hpp>
#include <cairn/adapt/disk/disk_options.hpp>

namespace cairn::detail {

/// Whether a name is that of a run: 32 hexadecimal digits.
[[nodiscard]] inline bool is_run_name(std::string const& name) noexcept {
  return name.size() == 32 && name.find_first_not_of("0123456789abcdef") == name.npos;
}
/// The names of runs in a folder, in their order.
[[nodiscard]] inline std::vector<std::string> names_of_runs(descriptor const& outer) {
  std::vector<std::string> runs;
  each_name(outer, [&](std::string const& name) {
    if (is_run_name(name)) runs.push_back(name);
  });
  std::sort(runs.begin(), runs.end());
  return runs;
}
/// The folder of a run; no link is followed.
[[nodiscard]] inline descriptor open_run(descriptor const& outer, std::string const& name) {
  return open_folder_as_it_is(outer.get(), name.c_str(), O_NOFOLLOW);
}
/// Whether a process works on a run, as a look at its lock says.
[[nodiscard]] inline bool is_held(descriptor const& run, descriptor const& lock) noexcept {
  int taken = -1;
  do taken = ::flock(lock.get(), LOCK_SH | LOCK_NB);
  while (taken != 0 && errno == EINTR);
  if (taken != 0) return true;
  (void)::flock(lock.get(), LOCK_UN);
  auto const text = text_of(lock);
  return text && is_elsewhere(*text, run) && std::time(nullptr) - written_at(lock) < beat_limit;
}

/// What a file with one of our names is good for.
enum class file_use : std::uint8_t {
  whole,      ///< a checkpoint or a record of this run
  unwritten,  ///< room for one
  damaged,    ///< no version of cairn can use it
  unknown     ///< written by another version or on another kind of machine, of another user, or not to be read
};
struct seen_file {
  std::string name;
  file_use use = file_use::unknown;
  file_head head;  ///< if it is whole
  std::uint64_t bytes = 0;
  struct timespec written {};
};
/// Looks at a checkpoint, a record or the choices in the folder of the run `of`.
/// \param memory  not null: reads all bytes and compares their hashes, too
[[nodiscard]] inline seen_file look_at(descriptor const& run, std::string const& of, std::string const& name,
                                       io_memory* memory = nullptr) {
  seen_file seen;
  seen.name = name;
  descriptor const file = open_in(run, name.c_str(), O_RDONLY);
  struct stat now {};
  if (!file || ::fstat(file.get(), &now) != 0) return seen;
  seen.bytes = std::uint64_t(now.st_size);
  seen.written = now.st_mtim;
  file_head head;
  auto const* const first = reinterpret_cast<unsigned char const*>(&head);
  auto const no_byte = [](unsigned char byte) { return byte == 0; };
  if (seen.bytes < sizeof head) return seen.use = seen.bytes == 0 ? file_use::unwritten : file_use::damaged, seen;
  if (read_at(file.get(), &head, sizeof head, 0) != 0) return seen;
  if (std::all_of(first, first + sizeof head, no_byte)) return seen.use = file_use::unwritten, seen;
  if (head.of_others()) return seen;
  seen.use = file_use::damaged;
  slot_index const slot = name == final_name  ? run_folder::final_slot
                           : name == live_name ? run_folder::live_slot
                                               : slot_of(name);
  bool const choices = name == choices_name || name == new_choices_name;  // its first part
  bool const named = name == name_of_name;
  auto const kind = choices           ? file_kind::choices
                    : named           ? file_kind::name
                    : slot == no_slot ? file_kind::record
                                      : file_kind::checkpoint;
  auto const number = std::uint32_t(choices || named ? 0 : slot == no_slot ? name.back() - '0' : slot);
  if (name_of(head.run) != of || !head_of(file, kind, number, head.run, head.steps).sound()) return seen;
  if (memory != nullptr && !file_reader{file.get(), *memory, head}.unchanged()) return seen;
  seen.use = file_use::whole;
  seen.head = head;
  return seen;
}
/// Reads by what a run is known. Returns whether it is there.
[[nodiscard]] inline bool read_name(descriptor const& run, std::string const& of, io_memory& memory, run_name& name,
                                    std::array<std::string, run_parts>* texts = nullptr) {
  auto const seen = look_at(run, of, name_of_name, &memory);
  if (seen.use != file_use::whole) return false;
  descriptor const file = open_in(run, name_of_name, O_RDONLY);
  file_reader source{file.get(), memory, seen.head};
  if (!file || !source.unchanged()) return false;
  try {
    name.read(source, texts);
  } catch (invalid_bytes const&) {
    return false;
  }
  return true;
}
/// Says which of some other runs in the folder is the nearest, and why it is another one.
inline void tell_nearest(disk_report& report, outer_folders const& folders, run_folder& folder, run_name const& name) {
  descriptor const& outer = folders.runs;
  nearest_run nearest;
  int looks = 64;  // an optimiser has many, and begins many
  each_name(outer, [&](std::string const& other) {
    if (!is_run_name(other) || folder.path().ends_with(other) || looks-- <= 0) return;
    run_name its;
    if (descriptor const run = open_run(outer, other); run && read_name(run, other, folder.memory, its))
      nearest.consider(other, name, its);
  });
  report.differs = nearest.names();
  if (report.why[0] == '\0') report.why = nearest.why();
}
/// Of which files all bytes are read; of all others only the heads.
enum class bytes_read : std::uint8_t { none, records, all };
/// All checkpoints and records of a run, in the order of their names.
/// \param others  becomes the number of names that are not ours
[[nodiscard]] inline std::vector<seen_file> files_of_run(descriptor const& run, std::string const& of, bytes_read what,
                                                         std::int64_t& others) {
  std::vector<std::string> names;
  others = 0;
  each_name(run, [&](std::string const& name) {
    if (name == "." || name == ".." || name == "lock") return;
    if (is_file_of_run(name)) names.push_back(name);
    else ++others;
  });
  std::sort(names.begin(), names.end());
  std::optional<io_memory> memory;
  if (what != bytes_read::none) memory.emplace();
  std::vector<seen_file> files;
  for (auto const& name : names) {
    bool const whole = what == bytes_read::all || (what == bytes_read::records && slot_of(name) == no_slot);
    files.push_back(look_at(run, of, name, whole ? &*memory : nullptr));
  }
  return files;
}

/// Removes the files of a run with our names, and its folder unless something else is in it: then the lock stays, too.
/// \pre the caller has the lock
inline void remove_run(descriptor const& outer, std::string const& name, descriptor const& run) {
  std::vector<std::string> files;
  bool others = false;
  each_name(run, [&](std::string const& one) {
    if (one == "." || one == ".." || one == "lock") return;
    if (is_file_of_run(one)) files.push_back(one);
    else others = true;
  });
  for (auto const& one : files) others = ::unlinkat(run.get(), one.c_str(), 0) != 0 || others;
  if (others) return;
  (void)::unlinkat(run.get(), "lock", 0);
  (void)::unlinkat(outer.get(), name.c_str(), AT_REMOVEDIR);
}

}  // namespace cairn::detail
