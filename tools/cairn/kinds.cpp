// SPDX-License-Identifier: Apache-2.0
#include "kinds.hpp"

#include <algorithm>
#include <cstddef>

namespace tool {
namespace {

using names = std::string_view const[];

constexpr names for_all = {"steps", "schedule", "state", "adjoint", "tape", "out_of_place", "time_limit"};
constexpr names for_revolve = {"slots", "memory", "block", "initial"},
                for_uniform = {"slots", "memory", "block"};
constexpr names for_store_all = {"memory"};
constexpr names for_two_level = {"period", "extra_slots", "memory"};
constexpr names for_online = {"slots", "memory", "eager"};
constexpr names for_multistage = {"ram_slots", "disk_slots", "memory"};
constexpr names for_hrevolve = {"tiers", "advance_cost", "turn_cost"};
constexpr names for_disk_revolve = {"ram_slots", "disk_write", "disk_read", "advance_cost", "turn_cost", "memory"};
constexpr names for_mixed = {"units", "tape_units", "tape_restarts", "initial"};
constexpr names for_bptt = {"units", "tape_units", "keep", "initial"};
constexpr names for_runge_kutta = {"units", "stages", "stiffly_accurate", "initial"};
constexpr names for_action_list = {"actions"};

/// In the order of the enumeration.
constexpr kind_words kinds[] = {
    {schedule_kind::revolve, "revolve", for_revolve, "$slots, or $memory and $state; give one of these"},
    {schedule_kind::uniform, "uniform", for_uniform, nullptr},
    {schedule_kind::store_all, "store_all", for_store_all, nullptr},
    {schedule_kind::two_level, "two_level", for_two_level,
     "$period and $extra_slots, or $period, $memory and $state; give these"},
    {schedule_kind::online, "online", for_online, "$slots, or $memory and $state; give one of these"},
    {schedule_kind::multistage, "multistage", for_multistage, "$ram_slots, or $memory and $state; give one of these"},
    {schedule_kind::hrevolve, "hrevolve", for_hrevolve, "$tiers; give slots, write and read cost of each"},
    {schedule_kind::disk_revolve, "disk_revolve", for_disk_revolve,
     "$disk_write, $disk_read and $ram_slots, or $memory and $state for the last; give these"},
    {schedule_kind::mixed, "mixed", for_mixed, "$units; give what states and tapes share"},
    {schedule_kind::bptt, "bptt", for_bptt, "$units; give what states and tapes share"},
    {schedule_kind::runge_kutta, "runge_kutta", for_runge_kutta, "$units; give what states and tapes share"},
    {schedule_kind::action_list, "action_list", for_action_list,
     "$actions; give a file, as in cairn plan --actions FILE"},
};

}  // namespace

std::span<kind_words const> schedule_kinds() noexcept { return kinds; }
kind_words const& words_of(schedule_kind kind) noexcept { return kinds[std::size_t(kind)]; }
char const* name_of(schedule_kind kind) noexcept { return words_of(kind).name; }

std::string kind_names() {
  std::string text;
  for (auto const& kind : kinds) {
    if (!text.empty()) text += kind.kind == schedule_kind::action_list ? " or " : ", ";
    text += kind.name;
  }
  return text;
}

bool goes_with_all(std::string_view key) noexcept {
  return std::find(std::begin(for_all), std::end(for_all), key) != std::end(for_all);
}

}  // namespace tool
