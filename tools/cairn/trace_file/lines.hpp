// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file lines.hpp  Reads a trace line by line.
#include <cerrno>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <fstream>
#include <string>
#include <string_view>

#include <cairn/core/error.hpp>

#include "json_line.hpp"

namespace trace_file {

/// What a line of a trace is.
enum class trace_line_kind : std::uint8_t { opening, closing, empty, event, broken };

/// The members of an event that are needed to read a trace; texts as they are written, valid as long as the line.
struct read_event {
  std::string_view name, category, phase, type, target, layer, host, version, date, value;
  std::string_view process, thread;  ///< numbers as they are written
  std::int64_t id = -1, parent = -1;
  double at = 0, duration = 0;  ///< microseconds
};

[[nodiscard]] inline double number_of(std::string_view text) noexcept {
  double value = 0;
  std::from_chars(text.data(), text.data() + text.size(), value);
  return value;
}
[[nodiscard]] inline std::int64_t whole_of(std::string_view text) noexcept {
  std::int64_t value = -1;
  std::from_chars(text.data(), text.data() + text.size(), value);
  return value;
}

/// Reads one line, its comma left out; calls `see` for each member as `json_line::object` does.
template <class See>
[[nodiscard]] trace_line_kind read_trace_line(std::string_view line, read_event& found, See&& see) {
  auto const first = line.find_first_not_of(" \t\r"), last = line.find_last_not_of(" \t\r");
  if (first == line.npos) return trace_line_kind::empty;
  line = line.substr(first, last + 1 - first);
  if (line == "[") return trace_line_kind::opening;
  if (line == "]") return trace_line_kind::closing;
  if (line.ends_with(',')) line.remove_suffix(1);
  found = {};
  bool const read =
      json_line{line}.object([&](std::string_view outer, std::string_view key, std::string_view value, bool text) {
        if (outer.empty()) {
          if (key == "name" && text) found.name = value;
          else if (key == "cat" && text) found.category = value;
          else if (key == "ph" && text) found.phase = value;
          else if (key == "id") found.id = whole_of(value);
          else if (key == "pid" && !text) found.process = value;
          else if (key == "tid" && !text) found.thread = value;
          else if (key == "ts") found.at = number_of(value);
          else if (key == "dur") found.duration = number_of(value);
        } else if (outer == "args") {
          if (key == "p_idx") found.parent = whole_of(value);
          else if (key == "type" && text) found.type = value;
          else if (key == "target" && text) found.target = value;
          else if (key == "layer" && text) found.layer = value;
          else if (key == "hhash" && text) found.host = value;
          else if (key == "version" && text) found.version = value;
          else if (key == "date" && text) found.date = value;
          else if (key == "name" && text) found.value = value;
        }
        see(outer, key, value, text);
      });
  return read && !found.name.empty() && !found.phase.empty() ? trace_line_kind::event : trace_line_kind::broken;
}

/// Opens a trace.   \throws file_error   \throws parse_error   for a compressed file
[[nodiscard]] inline std::ifstream open_trace(char const* who, std::string const& file) {
  std::ifstream stream{file, std::ios::binary};
  if (!stream)
    throw cairn::file_error{who,
                            (std::string{"a trace cannot be opened for reading: "} + std::strerror(errno)).c_str(),
                            {{"error", errno}},
                            ("see whether it is there: " + file).c_str()};
  char first[2] = {};
  stream.read(first, 2);
  if (stream.gcount() == 2 && first[0] == '\x1f' && first[1] == '\x8b')
    throw cairn::parse_error{
        who, "a trace is compressed", {}, ("unpack it first, by `gunzip_trace` or gunzip: " + file).c_str()};
  stream.clear();
  stream.seekg(0);
  return stream;
}

}  // namespace trace_file
