// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file agreed.hpp  What processes that run a sweep together agree on: whose run it is, and from where all of them go on.
/// `all` is an agreement; see `one_process`. A process that runs alone agrees with itself, and nothing is done for it.
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <fcntl.h>
#include <optional>
#include <string>
#include <sys/stat.h>
#include <vector>
#include <xxhash.h>
#include <cairn/adapt/disk/detail/descriptor.hpp>
#include <cairn/adapt/disk/detail/file_head.hpp>
#include <cairn/adapt/disk/detail/run_folder.hpp>
#include <cairn/adapt/disk/detail/run_name.hpp>
#include <cairn/adapt/disk/disk_options.hpp>
#include <cairn/core/action.hpp>
#include <cairn/core/error.hpp>
#include <cairn/run/sweep/detail/given_parts.hpp>

namespace cairn::detail {

/// Whether something holds on all.
template <class Agreement>
[[nodiscard]] bool on_all(Agreement const& all, bool own) { return all.least(own ? 1 : 0) == 1; }
/// The most of the values of all, each at most 2^62.
template <class Agreement>
[[nodiscard]] std::uint64_t most_of(Agreement const& all, std::uint64_t own) {
  constexpr std::uint64_t limit = std::uint64_t{1} << 62;
  return limit - all.least(limit - (own < limit ? own : limit));
}

/// The folders of this process's runs and of their states: the user's own or, of several processes, `rank0000` and so on
/// in them. These may stand on one file system, and then none removes the runs of another, or on one for each machine.
/// \param path  the user's; afterwards that of the folder   \param scratch  of their states, or empty
/// \throws file_error
template <class Agreement>
[[nodiscard]] outer_folders open_runs(Agreement const& all, std::string& path, std::string const& scratch) {
  auto const open = [&](std::string& at) {
    descriptor outer = open_folder(AT_FDCWD, at);
    if constexpr (Agreement::together) {
      char name[24];
      (void)std::snprintf(name, sizeof name, "rank%04d", all.rank());
      at += std::string{"/"} + name;
      return open_folder(outer.get(), name);
    } else return outer;
  };
  outer_folders outer{open(path)};
  if (scratch.empty()) return outer;
  outer.scratch_path = scratch;
  outer.scratch = open(outer.scratch_path);
  struct stat one {}, other {};
  bool const same = ::fstat(outer.runs.get(), &one) == 0 && ::fstat(outer.scratch.get(), &other) == 0 &&
                    one.st_dev == other.st_dev && one.st_ino == other.st_ino;
  if (same) outer.scratch = descriptor{};
  return outer;
}
/// Before any step runs.   \throws invalid_call   if not all have the options that decide when all of them meet
template <class Agreement>
void agree_on_options(Agreement const& all, disk_options const& asked, trust const& known) {
  std::uint64_t const words[] = {std::uint64_t(asked.resume), std::uint64_t(asked.commit_every), known.states,
                                 known.record, std::uint64_t(bool(asked.stop))};
  if (!all.same(XXH64(words, sizeof words, 0)))
    throw invalid_call{"cairn::disk", "ranks have different options, or not all of them have a key or a stop",
                       {{"commit_every", asked.commit_every}, {"resume", int(asked.resume)}},
                       "give all ranks the same commit_every and resume, and key and stop to all of them or to none"};
}
/// The name of this process's part of a run, in which those of all parts are: if one has other inputs, all have another
/// run.
template <class Agreement>
[[nodiscard]] run_id agreed_id(Agreement const& all, run_id const& own) {
  if constexpr (!Agreement::together) return own;
  else {
    std::vector<run_id> parts(std::size_t(all.size()));
    all.gather(&own, parts.data(), sizeof own);
    std::uint64_t const seed = 2 * std::uint64_t(all.rank());
    std::size_t const bytes = parts.size() * sizeof(run_id);
    return {{XXH64(parts.data(), bytes, seed), XXH64(parts.data(), bytes, seed + 1)}};
  }
}
/// The record from which all go on: that of the one whose last record is the earliest. Each has this one as its last or
/// as the one before, because no record is begun until all have written theirs. Otherwise there is none.
/// \param found  this process's last one, which was read   \param usable  whether it may be used
/// \param read_at  read_at(step) reads the one with this number of steps that are left
template <class Agreement, class ReadAt>
[[nodiscard]] bool agree_on_record(Agreement const& all, std::optional<file_head>& found, bool usable, step_index steps,
                                   ReadAt read_at) {
  if constexpr (!Agreement::together) return usable;
  else {
    std::uint64_t const none = std::uint64_t(steps) + 1;
    std::uint64_t const left = most_of(all, usable ? found->step : none);
    if (left == none) return false;
    if (found->step != left) found = read_at(step_index(left));
    return on_all(all, bool(found));
  }
}
/// The choices of steps that all have; each has the others of its file no more.
template <class Agreement, class Choices>
void agree_on_choices([[maybe_unused]] Agreement const& all, [[maybe_unused]] Choices& choices) {
  if constexpr (Agreement::together && Choices::any)
    while (!all.same(choices.kept())) choices.read_again(all.least(choices.kept()));
}
/// Of the states in slots, `held` by their numbers, those stay that all have; in place of others stands -1.
template <class Agreement>
void agree_on_states(Agreement const& all, std::vector<step_index>& held) {
  if constexpr (Agreement::together) {
    std::size_t const slots = held.size();
    for (std::size_t slot = 0; slot < slots; ++slot) held.push_back(~held[slot]);
    all.least_of_each(held.data(), held.size());
    for (std::size_t slot = 0; slot < slots; ++slot)
      if (held[slot] != ~held[slots + slot]) held[slot] = -1;
    held.resize(slots);
  }
}
/// Whether there is a state that all have.   \param usable  usable(head) says whether one may be used here
/// \param between  a state that is in no slot; -1 if there is none
template <class Agreement, class Usable>
[[nodiscard]] bool any_state(Agreement const& all, run_folder const& folder, slot_index slots, Usable usable,
                             step_index between) {
  std::vector<step_index> held(std::size_t(slots), -1);
  folder.each_checkpoint([&](slot_index slot, file_head const& head) {
    if (slot < slots && usable(head)) held[std::size_t(slot)] = step_index(head.step);
  });
  held.push_back(between);
  agree_on_states(all, held);
  for (step_index const at : held)
    if (at >= 0) return true;
  return false;
}

}  // namespace cairn::detail
