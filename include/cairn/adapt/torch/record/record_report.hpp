// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file record_report.hpp  What recorded calls did.
#include <cairn/language.hpp>  // first: an older language gets its message
#include <cstdint>
#include <string>
#include <vector>

namespace cairn::libtorch {

/// Counts of all calls of a checkpointed module, and the bytes of the last step.
struct RecordReport {
  std::uint64_t calls = 0;       ///< calls that were recorded
  std::int64_t operators = 0;    ///< that were recorded: those that make or change memory
  std::int64_t saved = 0;        ///< tensors that autograd saved
  std::int64_t dropped = 0;      ///< contents that were dropped to stay within the limit
  std::int64_t again = 0;        ///< operators that ran again in backward
  std::int64_t images = 0;       ///< copies of memory that the program changed after it was read
  std::int64_t image_bytes = 0;  ///< bytes of these copies, all together
  std::int64_t limit = 0;        ///< of the last call
  std::int64_t peak = 0;         ///< most bytes at once in the last step, from its first call on
  /// The least limit that the last step could have kept, as far as is known: 0 if it kept its limit.
  std::int64_t least = 0;
  std::vector<std::string> kept;  ///< what is not made again but held, and why, each reason once
};

}  // namespace cairn::libtorch
