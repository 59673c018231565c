// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file environment.hpp  Settings that programs take from the environment of their process. No part of cairn reads the
/// environment by itself: a program has to ask for it.
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>
#include <cairn/core/action.hpp>
#include <cairn/core/bytes.hpp>
#include <cairn/core/error.hpp>
#include <cairn/detail/linkage.hpp>
#include <cairn/rules/replay_check.hpp>

namespace cairn {

/// What the environment asks for. A member is empty if its variable is not set or CAIRN_ENABLE is 0; a program then
/// takes its own default. Its command line takes precedence.
struct environment {
  /// A variable that is set.
  struct variable {
    std::string name;   ///< "CAIRN_BUDGET"
    std::string value;  ///< as it is written
    friend bool operator==(variable const&, variable const&) = default;
  };

  bool enabled = true;                 ///< CAIRN_ENABLE
  std::optional<byte_size> budget;     ///< CAIRN_BUDGET
  std::optional<slot_index> slots;     ///< CAIRN_SLOTS
  std::optional<std::string> schedule; ///< CAIRN_SCHEDULE, one of `schedule_names`
  std::optional<replay_check> verify;  ///< CAIRN_VERIFY
  std::optional<bool> progress;        ///< CAIRN_PROGRESS
  std::optional<std::string> log;      ///< CAIRN_LOG, a file
  std::optional<std::string> trace;    ///< CAIRN_TRACE, a file
  std::optional<std::string> trace_filter;  ///< CAIRN_TRACE_FILTER, for `trace_options::categories`
  std::optional<bool> trace_metadata;  ///< CAIRN_TRACE_METADATA, for `trace_options::metadata`
  std::optional<bool> trace_compression;  ///< CAIRN_TRACE_COMPRESSION: `gzip_trace` when the trace is done
  std::optional<std::string> profile;  ///< CAIRN_PROFILE, a folder
  std::vector<variable> given;         ///< all variables of `environment_names` that are set, in that order

  /// The names of variables that are set and in effect, but that a program does not obey, so that the program can
  /// report them rather than ignore them in silence.
  /// \param obeyed  names of `environment_names`, without CAIRN_ENABLE
  [[nodiscard]] CAIRN_DECL std::vector<std::string> not_obeyed(std::span<std::string_view const> obeyed) const;
};

/// A variable that `from_environment` reads.
struct environment_name {
  std::string_view name;      ///< "CAIRN_BUDGET"
  std::string_view value;     ///< what it may be set to, "SIZE"
  std::string_view fallback;  ///< what applies if it is not set
  std::string_view effect;    ///< what it does
};

/// All variables that `from_environment` reads.
[[nodiscard]] CAIRN_DECL std::span<environment_name const> environment_names();

/// The names that CAIRN_SCHEDULE takes: those of the schedules.
[[nodiscard]] CAIRN_DECL std::span<std::string_view const> schedule_names();

/// Thrown for a variable of the environment whose name or value is unknown; `what()` lists the known ones.
struct environment_error : error { using error::error; };

/// Reads the environment of this process. Names that do not begin with CAIRN_ are not looked at, and neither are those
/// of cairn's own build and tests. Values are checked even if CAIRN_ENABLE is 0.
/// \throws environment_error   for another name that begins with CAIRN_, or a value that its name does not take
[[nodiscard]] CAIRN_DECL environment from_environment();
/// The same from lines "NAME=value".
[[nodiscard]] CAIRN_DECL environment from_environment(std::span<std::string const> lines);

}  // namespace cairn

#ifndef CAIRN_SEPARATE_COMPILATION
#include <cairn/trace/impl/environment.ipp>
#endif
