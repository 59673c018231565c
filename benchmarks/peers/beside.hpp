// SPDX-License-Identifier: Apache-2.0
#pragma once
// Rows of cairn with a second core, and with files: the last argument of their gradients.
#include <string>
#include <cairn/adapt/disk.hpp>
#include <cairn/adapt/disk/stored_runs.hpp>
#include <cairn/adapt/threads.hpp>
#include <cairn/schedule/multistage.hpp>

namespace peer {

/// A helper with states ahead.
inline auto helper(cairn::slot_index ahead) {
  return [ahead] { return cairn::parallel{.ahead = ahead}; };
}
/// A folder beside FILE; each gradient is a run of its own, and removes the one before.
inline auto files(char const* file) {
  return [folder = std::string{file} + ".states", runs = 0]() mutable {
    if (runs++ > 0) (void)cairn::remove_runs(folder, {.keep = 0, .really = true});
    return cairn::disk{folder, {.key = cairn::key_of("gradient", runs)}};
  };
}

}  // namespace peer
