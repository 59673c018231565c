// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file scan.hpp  Finds the complete events of a trace.
#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

#include <cairn/core/error.hpp>

#include "lines.hpp"

namespace trace_file {

/// What is known of a trace after its last line.
struct trace_end {
  std::uint64_t events = 0, lost_bytes = 0;
  bool whole = true;  ///< nothing to repair so far
  bool opened = false, ended = false, closed = false;
  std::int64_t last_id = 0;
  double last_at = 0;
  std::string process = "0", thread = "0", host;
};

/// Calls keep(line without comma) for each complete event.
template <class Keep>
[[nodiscard]] trace_end scan_trace(std::string const& file, Keep keep) {
  auto stream = open_trace("cairn trace repair", file);
  trace_end end;
  bool comma = true;  // whether the previous event ended with a comma
  for (std::string line; std::getline(stream, line);) {
    read_event found;
    auto const kind = read_trace_line(line, found, [](auto const&...) {});
    if (kind == trace_line_kind::opening && !end.opened && end.events == 0) {
      end.opened = true;
    } else if (kind == trace_line_kind::closing && !end.closed) {
      end.closed = true;
    } else if (kind == trace_line_kind::event) {
      std::string_view text{line};
      while (text.ends_with('\r') || text.ends_with(' ') || text.ends_with('\t')) text.remove_suffix(1);
      bool const follows = text.ends_with(',');
      if (follows) text.remove_suffix(1);
      if (!end.opened || end.closed || !comma) end.whole = false;
      comma = follows;
      ++end.events;
      end.ended = end.ended || (found.name == "end" && found.category == "cairn");
      end.last_id = (std::max)(end.last_id, found.id);
      end.last_at = (std::max)(end.last_at, found.at + found.duration);
      if (!found.process.empty()) end.process = found.process;
      if (!found.thread.empty()) end.thread = found.thread;
      if (!found.host.empty()) end.host = found.host;
      keep(text);
    } else if (kind != trace_line_kind::empty) {
      end.whole = false;
      end.lost_bytes += line.size() + (stream.eof() ? 0 : 1);
    }
  }
  end.whole = end.whole && end.ended && end.closed && !comma;
  if (stream.bad())
    throw cairn::file_error{"cairn trace repair",
                            (std::string{"a trace cannot be read to its end: "} + std::strerror(errno)).c_str(),
                            {{"error", errno}},
                            file.c_str()};
  return end;
}

}  // namespace trace_file
