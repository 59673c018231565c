// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <algorithm>
#include <array>
#include <charconv>
#include <cstddef>
#include <system_error>
#include <cairn/trace/environment.hpp>

#ifdef _WIN32
#include <stdlib.h>
namespace cairn::detail {
[[nodiscard]] inline char** variables_of_process() { return _environ; }
}  // namespace cairn::detail
#else
extern "C" char** environ;  // POSIX declares it in no header
namespace cairn::detail {
[[nodiscard]] inline char** variables_of_process() { return environ; }
}  // namespace cairn::detail
#endif

namespace cairn {
namespace detail {

inline constexpr std::array<std::string_view, 11> schedule_list{
    "revolve",  "uniform",      "store_all", "two_level", "online",     "multistage",
    "hrevolve", "disk_revolve", "mixed",     "bptt",      "runge_kutta"};

// Readers of values. Each returns false for a text that its variable does not take.
template <class Truth>
[[nodiscard]] inline bool read_truth(Truth& into, std::string_view text) {
  bool const is_true = text == "1" || text == "true" || text == "on";
  into = is_true;
  return is_true || text == "0" || text == "false" || text == "off";
}
[[nodiscard]] inline bool read_size_into(std::optional<byte_size>& into, std::string_view text) {
  try {
    into = byte_size{text};
    return true;
  } catch (error const&) { return false; }
}
[[nodiscard]] inline bool read_count(std::optional<slot_index>& into, std::string_view text) {
  slot_index count = 0;
  auto const [end, problem] = std::from_chars(text.data(), text.data() + text.size(), count);
  if (problem != std::errc{} || end != text.data() + text.size() || count < 1) return false;
  into = count;
  return true;
}
[[nodiscard]] inline bool read_name(std::optional<std::string>& into, std::string_view text) {
  into = text;
  return !text.empty();
}

/// A variable, and the function that stores its value; it returns false for a value that the variable does not take.
struct environment_row {
  environment_name what;
  bool (*set)(environment& into, std::string_view value);
  friend bool operator==(environment_row const& row, std::string_view name) { return row.what.name == name; }
};

inline constexpr std::string_view master_switch = "CAIRN_ENABLE";

/// All variables. A new variable needs a row here and a member of `environment`.
inline constexpr std::array environment_rows{
    environment_row{{master_switch, "0 or 1", "1", "0: no other variable here has an effect"},
                    [](environment& to, std::string_view value) { return read_truth(to.enabled, value); }},
    environment_row{{"CAIRN_BUDGET", "SIZE", "the program's", "memory that plans may take, such as 512MiB or 1.5GB"},
                    [](environment& to, std::string_view value) { return read_size_into(to.budget, value); }},
    environment_row{{"CAIRN_SLOTS", "N", "the program's", "states that plans may keep at once, 1 or more"},
                    [](environment& to, std::string_view value) { return read_count(to.slots, value); }},
    environment_row{{"CAIRN_SCHEDULE", "NAME", "the program's", "the schedule of plans, such as revolve"},
                    [](environment& to, std::string_view value) {
                      to.schedule = value;
                      return std::ranges::find(schedule_list, value) != schedule_list.end();
                    }},
    environment_row{{"CAIRN_PROGRESS", "0 or 1", "0", "1: sweeps show on standard error how far they are"},
                    [](environment& to, std::string_view value) { return read_truth(to.progress, value); }},
    environment_row{{"CAIRN_LOG", "FILE", "none", "sweeps add to this file how far they are, a line every 5 s"},
                    [](environment& to, std::string_view value) { return read_name(to.log, value); }},
    environment_row{{"CAIRN_VERIFY", "off, checkpoints or every_step", "off",
                     "states that are run again are compared with those of the first run"},
                    [](environment& to, std::string_view value) {
                      to.verify = value == "checkpoints" ? replay_check::checkpoints
                                  : value == "every_step" ? replay_check::every_step : replay_check::off;
                      return to.verify != replay_check::off || value == "off";
                    }},
    environment_row{{"CAIRN_TRACE", "FILE", "none", "a trace of sweeps is written there, for Perfetto or Chrome"},
                    [](environment& to, std::string_view value) { return read_name(to.trace, value); }},
    environment_row{{"CAIRN_TRACE_FILTER", "LIST", "all", "categories of the trace, such as recompute,reverse"},
                    [](environment& to, std::string_view value) {
                      to.trace_filter = value;
                      return !value.empty() && !value.starts_with(',') && !value.ends_with(',') &&
                             value.find(",,") == value.npos;
                    }},
    environment_row{{"CAIRN_TRACE_METADATA", "0 or 1", "1", "0: the trace names no host, program or folder"},
                    [](environment& to, std::string_view value) { return read_truth(to.trace_metadata, value); }},
    environment_row{{"CAIRN_TRACE_COMPRESSION", "0 or 1", "0", "1: a trace that is done is compressed, into FILE.gz"},
                    [](environment& to, std::string_view value) { return read_truth(to.trace_compression, value); }},
    environment_row{{"CAIRN_PROFILE", "FOLDER", "the program's", "tables of a profile are written there"},
                    [](environment& to, std::string_view value) { return read_name(to.profile, value); }},
};

/// The descriptions of all variables, without the functions that store their values.
inline constexpr auto environment_list = [] {
  std::array<environment_name, environment_rows.size()> list;
  for (std::size_t k = 0; k < list.size(); ++k) list[k] = environment_rows[k].what;
  return list;
}();

/// Whether a variable belongs to cairn's own scripts, tests or build, and so is not a setting of a program. Some people
/// export build options.
[[nodiscard]] constexpr bool is_of_the_checkout(std::string_view name) noexcept {
  for (std::string_view const family : {"CAIRN_BUILD_", "CAIRN_WITH_", "CAIRN_FUZZ_", "CAIRN_MPI_", "CAIRN_PERFETTO_"})
    if (name.starts_with(family)) return true;
  return name == "CAIRN_APT_WAIT" || name == "CAIRN_NOT_SUSPENDED";
}

[[noreturn]] inline void refuse_variable(std::string_view name) {
  std::string advice = "unset " + std::string{name.substr(0, 60)} + ", or set one of CAIRN_";
  char const* before = "";
  for (auto const& known : environment_list) {
    advice.append(before).append(known.name.substr(std::string_view{"CAIRN_"}.size()));
    before = ", _";
  }
  throw environment_error{
      "cairn::from_environment", "a variable begins with CAIRN_ but is not one of cairn's", {}, advice.c_str()};
}
[[noreturn]] inline void refuse_value(environment_name const& what, std::string_view value) {
  std::string advice = "it is " + std::string{what.name} + "=" + std::string{value.substr(0, 40)} + "; set it to ";
  if (what.name == "CAIRN_SCHEDULE") {
    char const* before = "";
    for (auto const name : schedule_list) {
      advice.append(before).append(name);
      before = ", ";
    }
  } else {
    advice.append(what.value).append(": ").append(what.effect);
  }
  throw environment_error{
      "cairn::from_environment", "a variable has a value that it does not take", {}, advice.c_str()};
}

}  // namespace detail

CAIRN_DECL std::span<environment_name const> environment_names() { return detail::environment_list; }

CAIRN_DECL std::span<std::string_view const> schedule_names() { return detail::schedule_list; }

CAIRN_DECL std::vector<std::string> environment::not_obeyed(std::span<std::string_view const> obeyed) const {
  std::vector<std::string> names;
  if (!enabled) return names;
  for (auto const& [name, value] : given)
    if (name != detail::master_switch && std::find(obeyed.begin(), obeyed.end(), name) == obeyed.end())
      names.push_back(name);
  return names;
}

CAIRN_DECL environment from_environment() {
  std::vector<std::string> lines;
  for (char** line = detail::variables_of_process(); line != nullptr && *line != nullptr; ++line)
    lines.emplace_back(*line);
  return from_environment(lines);
}

CAIRN_DECL environment from_environment(std::span<std::string const> lines) {
  environment found;
  std::array<std::optional<std::string_view>, detail::environment_rows.size()> values;
  for (std::string_view const line : lines) {
    auto const name = line.substr(0, line.find('='));
    if (!name.starts_with("CAIRN_") || detail::is_of_the_checkout(name)) continue;
    auto const row = std::find(detail::environment_rows.begin(), detail::environment_rows.end(), name);
    if (row == detail::environment_rows.end()) detail::refuse_variable(name);
    values[std::size_t(row - detail::environment_rows.begin())] = line.substr((std::min)(name.size() + 1, line.size()));
  }
  for (std::size_t k = 0; k < values.size(); ++k)
    if (values[k]) {
      auto const& [what, set] = detail::environment_rows[k];
      if (!set(found, *values[k])) detail::refuse_value(what, *values[k]);
      found.given.push_back({std::string{what.name}, std::string{*values[k]}});
    }
  if (found.enabled) return found;
  environment nothing;
  nothing.enabled = false;
  nothing.given = std::move(found.given);
  return nothing;
}

}  // namespace cairn
