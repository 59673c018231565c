// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file disk_options.hpp  How a run on disk is known, when it commits, and what it says about itself.
#include <cstdint>
#include <functional>
#include <string>
#include <vector>
#include <cairn/adapt/disk/detail/packing.hpp>
#include <cairn/core/action.hpp>
#include <cairn/core/behind_options.hpp>
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

/// The files of a run that are whole, at a moment when nothing is written to any of them. Copied into an empty folder of
/// the same name, they are a run that goes on from that record.
struct whole_run {
  std::string folder = {};              ///< of the run; its own name is that of the run
  std::vector<std::string> files = {};  ///< names in it: the last record, choices of steps, states that can be used
  step_index left = -1;                 ///< by that record, steps [0, left) are to be reversed; -1: there is none
};

/// Options of `disk`.
struct disk_options {
  std::string key = {};  ///< names all that functions read and that differs from run to run; a text, or `key_of(values...)`
  /// Names the functions in place of the program's build: one built anew is the same by it, where types have the same
  /// names. Functions that are given by their addresses have none, nor have types of two source files with one name:
  /// these are known by build and place still.
  std::string code = {};
  resume_rule resume = resume_rule::if_found;  ///< whether to go on
  double seconds_between_failures = 86'400;    ///< the mean; decides how often a record is committed
  std::int64_t commit_every = 0;  ///< commit after so many reversed actions instead; 0: by the time
  std::int64_t keep = 1'000;  ///< finished runs that stay in the folder: the first of a program that is started again
  double forget_after = 30 * 86'400.0;  ///< seconds: unfinished runs that nothing was written to for so long are removed
  compression compress = nullptr;  ///< of checkpoints; it may be another one when the run goes on
  /// A folder for checkpoints on a disk of the machine's own, made if it is not there: records, choices and the final
  /// state of a kept run stay with the run. It is no part of the run's name, and what is lost there is made again.
  std::string scratch = {};
  /// States on disk are written and read on a thread of their own while the sweep goes on; `{}` is two of each. By
  /// default, and for chains and ranks of MPI, the sweep waits for each. It is no part of the run's name.
  behind_options behind = {0, 0};
  /// Asked before each step and each adjoint, with `parallel` by two threads at once, so let it be a read of an atomic:
  /// when it says true, what is there is written, and `stopped` is thrown.
  std::function<bool()> stop = {};
  /// Told of the run's files after each record, and before `stopped` is thrown; the sweep waits until it returns.
  std::function<void(whole_run const&)> committed = {};
};

/// What a run used of an earlier process.
enum class disk_use : std::uint8_t {
  nothing,  ///< it began anew
  states,   ///< checkpoints; the reverse sweep began at the end of the loop
  record    ///< the adjoint and its sums, and checkpoints
};

/// What a call that used a `disk` did.
struct disk_report {
  bool finished = false;  ///< nothing ran: the result is that of a run which was finished before
  disk_use used = disk_use::nothing;  ///< of an earlier process
  char const* why = "";        ///< why not more was used, or would be by the next process; empty if all is
  std::string differs = {};    ///< if nothing was: the parts of the nearest run in the folder that are other ones
  step_index resumed_at = -1;  ///< with a record: steps [0, resumed_at) were left; 0: it was finished
  wide step_calls = 0;         ///< of this process
  std::int64_t commits = 0;    ///< records written
  std::int64_t commits_failed = 0;  ///< records that could not be written; the sweep went on, and tried again later
  /// What could not be written last, a record or where the run stopped, and why, in the system's words; empty if all is.
  std::string not_written = {};
  double commit_seconds = 0;   ///< that records took
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
  if (!(asked.forget_after > 0))
    throw invalid_call{"cairn::disk", "the time after which an unfinished run is removed is not positive", {},
                       "give seconds, 2592000 for 30 days"};
  if (asked.behind.saves < 0 || asked.behind.loads < 0)
    throw invalid_call{"cairn::disk", "the number of states behind the sweep is negative",
                       {{"saves", asked.behind.saves}, {"loads", asked.behind.loads}},
                       "give 0 or more of each, or nothing for none"};
  if (asked.keep < 1)
    throw invalid_call{"cairn::disk", "the number of finished runs to be kept is below 1", {{"runs", asked.keep}},
                       "give 1 or more"};
}
}  // namespace detail
}  // namespace cairn
