// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file request.hpp  A request for a plan: the same words on the command line and in a line of JSON.
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>
#include <cairn/core/action.hpp>
#include <cairn/core/bytes.hpp>
#include "keys.hpp"
#include "kinds.hpp"

namespace tool {

class deadline_timer;

/// One of several tiers that hold states: its slots, and the cost of a write and a read.
struct asked_tier {
  cairn::slot_index slots = 0;
  double write = 0, read = 0;
};
/// Whether the initial state takes a slot that can be released, or is kept outside the budget.
enum class initial_state : std::uint8_t { releasable, pinned_free };
/// What a plan may keep of a loop whose steps are recorded.
enum class keep_choice : std::uint8_t { states, tapes, both };

struct request {
  std::optional<cairn::step_index> steps;
  std::optional<cairn::slot_index> slots;
  std::optional<cairn::byte_size> memory, state, adjoint, tape;
  bool out_of_place = false;
  schedule_kind const* named = nullptr;  ///< the value of `schedule`
  std::optional<cairn::step_index> block, period;
  std::optional<cairn::slot_index> extra_slots, ram_slots, disk_slots;
  std::optional<double> disk_write, disk_read;
  double advance_cost = 1, turn_cost = 0;
  std::vector<asked_tier> tiers;
  std::optional<cairn::slot_index> units;
  cairn::slot_index tape_units = 1, stages = 1;
  bool tape_restarts = false, stiffly_accurate = true, eager = false;
  std::optional<initial_state> initial;
  keep_choice keep = keep_choice::both;
  std::string actions;      ///< the name of the file
  std::optional<double> time_limit;  ///< in seconds, infinite for no limit; usual_time_limit if not given
  deadline_timer* deadline = nullptr;       ///< of the current answer; must outlive it
  std::uint64_t given = 0;  ///< bit k is set if request_keys()[k] was given

  /// The named kind; else the kind that the given keys imply.
  [[nodiscard]] schedule_kind const& schedule() const noexcept {
    return named ? *named : actions.empty() ? revolve_kind() : list_kind();
  }
};

using request_key = key_of<request>;

[[nodiscard]] std::span<request_key const> request_keys();

/// \throws wrong_request   for an unknown key, and for a text that is not a value of the key
void set(request& asked, std::string_view name, std::string_view text);

/// \throws wrong_request   if a given key does not apply to the requested kind of schedule, with the keys that do
void refuse_foreign_keys(request const& asked);

}  // namespace tool
