// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file kinds.hpp  The kinds of schedules: their names, and the keys of a request that apply to each.
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace tool {

enum class schedule_kind : std::uint8_t {
  revolve,
  uniform,
  store_all,
  two_level,
  online,
  multistage,
  hrevolve,
  disk_revolve,
  mixed,
  bptt,
  runge_kutta,
  action_list
};

struct kind_words {
  schedule_kind kind;
  char const* name;
  std::span<std::string_view const> keys;  ///< beside those that apply to every schedule
  char const* least;  ///< the keys it needs, as a message writes them (see `worded`); nullptr if it needs none
};

[[nodiscard]] std::span<kind_words const> schedule_kinds() noexcept;
[[nodiscard]] kind_words const& words_of(schedule_kind kind) noexcept;
[[nodiscard]] char const* name_of(schedule_kind kind) noexcept;

/// "revolve, uniform, ... or action_list".
[[nodiscard]] std::string kind_names();

/// Whether the key applies to every schedule.
[[nodiscard]] bool goes_with_all(std::string_view key) noexcept;

}  // namespace tool
