// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file runs_command.hpp  Answers `cairn inspect` and `cairn gc`: the runs that a folder keeps on disk.
#include <string>

namespace tool {

/// A folder of runs, as written by the user, and what is asked of it.
struct asked_runs {
  std::string folder, keep, older_than;
  bool check = false, json = false, yes = false, parts = false;
};

/// The runs of a folder.   \throws wrong_request, cairn::error
[[nodiscard]] std::string runs_of(asked_runs const& asked);

/// What of a folder no process needs any more; removes it if that was asked for.   \throws wrong_request, cairn::error
[[nodiscard]] std::string removal_of(asked_runs const& asked);

}  // namespace tool
