// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file repair_trace.hpp  Makes a trace whole that its program could not end.
#include <cstdint>
#include <string>
#include <cairn/detail/linkage.hpp>

namespace cairn {

/// What `repair_trace` found and did.
struct trace_repair {
  bool changed = false;        ///< false: the file was whole, and is as it was
  std::uint64_t events = 0;    ///< complete events that it holds, without an `end` that was added
  std::uint64_t lost_bytes = 0;  ///< bytes of lines that were no complete events
};

/// Makes a trace whole whose program was killed, or whose disk was full: all complete events stay, an event `end` with
/// `"repaired":true` and the closing bracket are added. Writes FILE.repaired, which then takes the place of the file.
/// Memory: one line. Cost: reads the file once if it is whole, else twice.
/// \throws file_error   if a file cannot be read or written   \throws parse_error   if there is no event in it, or it
///   is compressed; the file is as it was then
CAIRN_DECL trace_repair repair_trace(std::string const& file);

}  // namespace cairn

#ifndef CAIRN_SEPARATE_COMPILATION
#include <cairn/trace/impl/repair_trace.ipp>
#endif
