// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file disk_options.hpp  How a run on disk is known, when it commits, and what it says about itself.
#include <cstdint>
#include <string>
#include <cairn/adapt/disk/detail/packing.hpp>
#include <cairn/core/action.hpp>
#include <cairn/core/error.hpp>
#include <cairn/core/wide.hpp>

namespace cairn {

/// Whether a run goes on from what an earlier process has left.
enum class resume_rule : std::uint8_t {
  if_found,  ///< from what is there, or from the beginning
  never,     ///< from the beginning
  require    ///< from what is there; an error if nothing can be used
};

/// How checkpoints on disk are compressed: not at all, which is a null pointer, or by `zstd` of
/// <cairn/adapt/zstd.hpp>.
using compression = detail::block_codec const*;

/// Options of `disk`.
struct disk_options {
  std::string key = {};  ///< names what the functions capture and read; another key is another run
  resume_rule resume = resume_rule::if_found;  ///< whether to go on
  double seconds_between_failures = 86'400;    ///< the mean; decides how often a record is committed
  std::int64_t commit_every = 0;  ///< commit after so many reversed actions instead; 0: by the time
  std::int64_t keep = 1'000;      ///< records of finished runs that stay in the folder; the oldest are removed
  compression compress = nullptr;  ///< of checkpoints; it may be another one when the run goes on
};

/// What a run used of an earlier process.
enum class disk_use : std::uint8_t {
  nothing,  ///< it began anew
  states,   ///< checkpoints; the reverse sweep began at the end of the loop
  record    ///< the adjoint and its sums, and checkpoints
};

/// What a call that used a `disk` did.
struct disk_report {
  disk_use used = disk_use::nothing;  ///< of an earlier process
  char const* why = "";        ///< why not more was used, or would be by the next process; empty if all is
  step_index resumed_at = -1;  ///< with a record: steps [0, resumed_at) were left; 0: it was finished
  wide step_calls = 0;         ///< of this process
  std::int64_t commits = 0;    ///< records written
  double commit_seconds = 0;   ///< that these took
  std::uint64_t record_bytes = 0;  ///< of the records on disk
  std::string folder = {};     ///< of the run
};

namespace detail {
inline void check_disk_options(disk_options const& asked) {
  if (!(asked.seconds_between_failures > 0))
    throw invalid_call{"cairn::disk", "the mean time between failures is not positive", {},
                       "give seconds, 86400 for a day"};
  if (asked.commit_every < 0)
    throw invalid_call{"cairn::disk", "the number of actions between two commits is negative",
                       {{"actions", asked.commit_every}}, "give 1 or more, or 0 to let the time decide"};
  if (asked.keep < 1)
    throw invalid_call{"cairn::disk", "the number of finished runs to be kept is below 1", {{"runs", asked.keep}},
                       "give 1 or more"};
}
}  // namespace detail
}  // namespace cairn
