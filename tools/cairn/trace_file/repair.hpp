// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file repair.hpp  Completes a trace that its program could not end.
#include <cerrno>
#include <charconv>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>
#include <system_error>

#include <cairn/core/error.hpp>

#include "scan.hpp"

namespace trace_file {

/// What cairn trace repair found and did.
struct trace_repair {
  bool changed = false;          ///< false: the file was whole, and is as it was
  std::uint64_t events = 0;      ///< complete events in the file, without an `end` that was added
  std::uint64_t lost_bytes = 0;  ///< bytes of lines that were not complete events
};

/// Completes a trace whose program was killed or whose disk was full. All complete events stay; an event `end` with
/// `"repaired":true`, if there is no `end`, and the closing bracket are added. Writes FILE.repaired, which then takes
/// the place of the file. Memory: one line. Cost: reads the file once if it is whole, else twice.
/// \throws file_error   if a file cannot be read or written   \throws parse_error   for a file without events and for a
///   compressed one; the file is then unchanged
inline trace_repair repair_trace(std::string const& file);

inline trace_repair repair_trace(std::string const& file) {
  auto const end = scan_trace(file, [](std::string_view) {});
  if (end.events == 0)
    throw cairn::parse_error{"cairn trace repair",
                             "nothing in a file is a complete event",
                             {{"bytes", end.lost_bytes}},
                             ("a trace of cairn has one event a line: " + file).c_str()};
  if (end.whole) return {false, end.events, end.lost_bytes};
  std::string const made = file + ".repaired";
  auto const check = [&](bool holds) {
    if (holds) return;
    int const number = errno;
    std::error_code none;
    std::filesystem::remove(made, none);
    throw cairn::file_error{"cairn trace repair",
                            (std::string{"a repaired trace cannot be written: "} + std::strerror(number)).c_str(),
                            {{"error", number}},
                            ("make room beside the trace, which is as it was: " + file).c_str()};
  };
  std::ofstream stream{made, std::ios::binary | std::ios::trunc};
  check(bool(stream));
  stream << "[";
  bool first = true;
  (void)scan_trace(file, [&](std::string_view event) {
    stream << (first ? "\n" : ",\n") << event;
    first = false;
  });
  if (!end.ended) {
    char at[400];
    auto const written = std::to_chars(at, at + sizeof at, end.last_at, std::chars_format::fixed, 3).ptr;
    stream << ",\n{\"id\":" << end.last_id + 1 << R"(,"name":"end","cat":"cairn","pid":)" << end.process
           << ",\"tid\":" << end.thread << ",\"ts\":" << std::string_view(at, std::size_t(written - at))
           << R"(,"dur":0.001,"ph":"X","args":{"hhash":")" << end.host
           << R"(","p_idx":-1,"level":1,"grad_enabled":0,"type":"trace","target":"","num_events":)" << end.events
           << ",\"repaired\":true}}";
  }
  stream << "\n]\n";
  stream.close();
  check(bool(stream));
  std::error_code failed;
  std::filesystem::rename(made, file, failed);
  errno = failed.value();
  check(!failed);
  return {true, end.events, end.lost_bytes};
}

}  // namespace trace_file
