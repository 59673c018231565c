// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file repair_trace.hpp  Completes a trace that its program could not end.
#include <cstdint>
#include <string>
#include <cairn/detail/linkage.hpp>

namespace cairn {

/// What `repair_trace` found and did.
struct trace_repair {
  bool changed = false;        ///< false: the file was whole, and is as it was
  std::uint64_t events = 0;    ///< complete events in the file, without an `end` that was added
  std::uint64_t lost_bytes = 0;  ///< bytes of lines that were not complete events
};

/// Completes a trace whose program was killed or whose disk was full. All complete events stay; an event `end` with
/// `"repaired":true`, if there is no `end`, and the closing bracket are added. Writes FILE.repaired, which then takes
/// the place of the file. Memory: one line. Cost: reads the file once if it is whole, else twice.
/// \throws file_error   if a file cannot be read or written   \throws parse_error   for a file without events and for a
///   compressed one; the file is then unchanged
CAIRN_DECL trace_repair repair_trace(std::string const& file);

}  // namespace cairn

#ifndef CAIRN_SEPARATE_COMPILATION
#include <cairn/trace/impl/repair_trace.ipp>
#endif
