// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file action_list.hpp  A schedule given as a list of actions.
#include <cstddef>
#include <initializer_list>
#include <cairn/core/action.hpp>
#include <cairn/core/detail/table.hpp>
#include <cairn/core/error.hpp>
#include <cairn/schedule/detail/shared.hpp>

namespace cairn {

/// What a list of actions needs besides steps and slots.
struct action_list_options {
  step_index leaf = 1;        ///< the most steps that one `record` or `reverse` takes
  slot_index tapes = 0;  ///< most tapes kept at once
  bool free_initial = false;  ///< `load` of `no_slot` restores the initial state
  bool tapes_restart = false;  ///< `load` may restore the state at the end of a tape
  unit_budget budget = {};  ///< the units that states and tapes share
};

/// Actions made elsewhere: by hand, read from a file, or computed by another program. `verify` checks whether they form
/// a valid schedule. Copies of the plan and all cursors share one list.   Cost: 32 bytes per action; a cursor allocates
/// nothing.
class action_list {
 public:
  /// \param actions  up to the first `done`, which may be omitted at the end
  /// \throws invalid_plan   unless steps >= 0, slots >= 0, leaf >= 1, tapes >= 0
  action_list(step_index steps, slot_index slots, action const* actions, std::size_t count,
              action_list_options options = {})
      : steps_{steps}, slots_{slots}, options_{checked(steps, slots, options)}, list_{new list{actions, count}} {}
  /// The same for a braced list of actions.   \throws invalid_plan
  action_list(step_index steps, slot_index slots, std::initializer_list<action> actions,
              action_list_options options = {})
      : action_list{steps, slots, actions.begin(), actions.size(), options} {}

  [[nodiscard]] step_index steps() const noexcept { return steps_; }  ///< loop length
  [[nodiscard]] slot_index slots() const noexcept { return slots_; }  ///< most states kept at once
  [[nodiscard]] step_index leaf() const noexcept { return options_.leaf; }  ///< the most steps of one `reverse`
  [[nodiscard]] slot_index tapes() const noexcept { return options_.tapes; }  ///< see `tapes_of`
  /// See `cairn::initial_is_free`.
  [[nodiscard]] bool initial_is_free() const noexcept { return options_.free_initial; }
  [[nodiscard]] bool tapes_restart() const noexcept { return options_.tapes_restart; }  ///< see `cairn::tapes_restart`
  [[nodiscard]] wide units() const noexcept { return options_.budget.units; }  ///< see `units_of`
  [[nodiscard]] wide tape_units() const noexcept { return options_.budget.tape_units; }  ///< see `units_of`
  /// See `cairn::leaves_memory`.
  [[nodiscard]] bool leaves_memory() const noexcept { return list_->leaves_memory; }
  /// Bytes of the list.
  [[nodiscard]] wide shared_table_bytes() const noexcept { return sizeof(list) + wide(size()) * sizeof(action); }
  /// The number of actions before `done`.
  [[nodiscard]] std::size_t size() const noexcept { return list_->actions.size(); }

 private:
  struct list : detail::shared_object {
    list(action const* first, std::size_t count) : actions(length(first, count)) {
      for (std::size_t k = 0; k < actions.size(); ++k) {
        actions[k] = first[k];
        leaves_memory = leaves_memory || (first[k].kind == action_kind::save && first[k].where != tier::memory);
      }
    }
    [[nodiscard]] static std::size_t length(action const* first, std::size_t count) noexcept {
      std::size_t k = 0;
      while (k < count && first[k].kind != action_kind::done) ++k;
      return k;
    }
    detail::table<action> actions;
    bool leaves_memory = false;
  };

 public:
  /// Reads the list; copies advance independently.
  class cursor {
   public:
    /// The next action; `done` after the last.
    [[nodiscard]] action next() noexcept { return at_ < list_->actions.size() ? list_->actions[at_++] : action{}; }

   private:
    friend action_list;
    explicit cursor(detail::shared<list> const& actions) noexcept : list_{actions} {}
    detail::shared<list> list_;
    std::size_t at_ = 0;
  };
  [[nodiscard]] cursor walk() const noexcept { return cursor{list_}; }  ///< a cursor at the start

 private:
  [[nodiscard]] static action_list_options checked(step_index steps, slot_index slots, action_list_options options) {
    if (steps < 0 || slots < 0 || options.leaf < 1 || options.tapes < 0)
      throw invalid_plan{"cairn::action_list", "steps, slots and tapes are 0 or more, a leaf has 1 or more steps",
                         {{"steps", steps}, {"slots", slots}, {"leaf", options.leaf}, {"tapes", options.tapes}}, ""};
    return options;
  }

  step_index steps_;
  slot_index slots_;
  action_list_options options_;
  detail::shared<list> list_;
};
static_assert(schedule<action_list>);

}  // namespace cairn
