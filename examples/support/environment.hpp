// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file environment.hpp  What programs of this folder take from the environment, before they read their command line.

#include <cstdio>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include <cairn/trace/environment.hpp>
#include <cairn/trace/progress.hpp>
#include <cairn/trace/trace_writer.hpp>

#include "command_line.hpp"

namespace support {

/// The environment; says on standard error which of its settings this program does not obey.
/// \param obeyed  the names that it does   \throws wrong_usage
[[nodiscard]] inline cairn::environment environment_of(char const* program, std::span<std::string_view const> obeyed) {
  try {
    auto found = cairn::from_environment();
    for (auto const& name : found.not_obeyed(obeyed))
      std::fprintf(stderr, "%s: %s is set, and has no effect here\n", program, name.c_str());
    return found;
  } catch (cairn::environment_error const& problem) { throw wrong_usage{problem.what()}; }
}

/// Where progress is to be seen: nowhere, on standard error, or in a file.
struct wanted_progress {
  bool shown = false;
  std::string log;

  /// Takes what the environment says.
  void ask(cairn::environment const& from) {
    shown = from.progress.value_or(shown);
    log = from.log.value_or(log);
  }
  [[nodiscard]] explicit operator bool() const noexcept { return shown || !log.empty(); }
  /// \param name  what a sweep is called   \param sweeps  how many there are going to be, 0 where that is not known
  [[nodiscard]] cairn::progress_options options(char const* name, std::int64_t sweeps) const {
    cairn::progress_options made;
    made.name = name;
    made.sweeps = sweeps;
    made.log = log;
    return made;
  }
};

/// Where a trace is to be written, if it is.
struct wanted_trace {
  std::string file;
  bool compressed = false;
  cairn::trace_options options;

  /// Takes what the environment says.
  void ask(cairn::environment const& from) {
    file = from.trace.value_or(file);
    options.categories = from.trace_filter.value_or("");
    options.metadata = from.trace_metadata.value_or(true);
    compressed = from.trace_compression.value_or(compressed);
  }
  [[nodiscard]] explicit operator bool() const noexcept { return !file.empty(); }
};

}  // namespace support
