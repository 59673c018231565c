// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file names.hpp  The names in a folder, and which of them are ours.
#include <cstdlib>
#include <dirent.h>
#include <memory>
#include <string>
#include <cairn/adapt/disk/detail/descriptor.hpp>
#include <cairn/core/action.hpp>

namespace cairn::detail {

struct closes_folder {
  void operator()(DIR* open) const noexcept { (void)::closedir(open); }
};
/// Calls f(name) for each name in a folder.
template <class Fn>
void each_name(descriptor const& folder, Fn f) {
  descriptor again = open_folder_as_it_is(folder.get(), ".", 0);
  std::unique_ptr<DIR, closes_folder> const open{again ? ::fdopendir(again.get()) : nullptr};
  if (!open) return;
  (void)again.release();
  while (dirent const* const one = ::readdir(open.get())) f(static_cast<char const*>(one->d_name));
}

/// The slot whose file has this name, or no_slot.
[[nodiscard]] inline slot_index slot_of(std::string const& name) {
  bool const ours = name.size() > 4 && name.size() < 20 && name[0] == 's' &&
                    name.find_first_not_of("0123456789", 1) == name.npos;
  return ours ? slot_index(std::strtoll(name.c_str() + 1, nullptr, 10)) : no_slot;
}
inline constexpr char const* record_names[2] = {"record0", "record1"};
inline constexpr char const* choices_name = "choices";  // of steps
inline constexpr char const* new_choices_name = "choices.new";  // a file that takes the place of the one above
inline constexpr char const* final_name = "final";      // the final state of a run that is kept
inline constexpr char const* name_of_name = "name";     // by what the run is known
inline constexpr char const* live_name = "live";        // where a run was that was asked to stop
/// Whether a name in the folder of a run is one of ours.
[[nodiscard]] inline bool is_file_of_run(std::string const& name) {
  for (char const* const ours : {"lock", record_names[0], record_names[1], choices_name, new_choices_name, final_name,
                                 live_name, name_of_name, passing_name})
    if (name == ours) return true;
  return slot_of(name) != no_slot;
}

}  // namespace cairn::detail
