#pragma once
/// \file request.hpp  What a plan is asked for: the same words on the command line and in a line of JSON.
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

/// What holds states beside others: slots, and what a write and a read cost.
struct asked_tier {
  cairn::slot_index slots = 0;
  double write = 0, read = 0;
};
/// Whether the initial state takes a slot that can be given up, or stands outside the budget.
enum class initial_state : std::uint8_t { releasable, pinned_free };
/// What may be kept of a loop whose steps are recorded.
enum class keep_choice : std::uint8_t { states, tapes, both };

struct request {
  std::optional<cairn::step_index> steps;
  std::optional<cairn::slot_index> slots;
  std::optional<cairn::byte_size> memory, state, adjoint, tape;
  bool out_of_place = false;
  std::optional<schedule_kind> named;  ///< by `schedule`
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
  std::string actions;      ///< the name of a file
  std::optional<double> time_limit;  ///< in seconds, infinite for none; usual_time_limit where it is not given
  deadline_timer* deadline = nullptr;       ///< on the answer that is under way, which it outlives
  std::uint64_t given = 0;  ///< bit k is set where request_keys()[k] was

  /// The kind that is named; else the one that the given keys mean.
  [[nodiscard]] schedule_kind schedule() const noexcept {
    return named ? *named : actions.empty() ? schedule_kind::revolve : schedule_kind::action_list;
  }
};

using request_key = key_of<request>;

[[nodiscard]] std::span<request_key const> request_keys() noexcept;

/// \throws wrong_request   for a key that there is not, and a text that is no value of it
void set(request& asked, std::string_view name, std::string_view text);

/// \throws wrong_request   where a key was given that the asked kind of schedule knows nothing of, saying which keys it
/// has
void refuse_foreign_keys(request const& asked);

}  // namespace tool
