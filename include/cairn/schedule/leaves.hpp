// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file leaves.hpp  Any schedule over leaves: runs of several steps that one adjoint call reverses.
#include <cstdint>
#include <initializer_list>
#include <utility>
#include <cairn/core/action.hpp>
#include <cairn/core/error.hpp>
#include <cairn/schedule/detail/leaves_in.hpp>
#include <cairn/schedule/uniform.hpp>
#include <cairn/schedule/walked_counts.hpp>

namespace cairn {

/// A loop of `steps` steps as leaves of `size` steps, the last one possibly shorter, scheduled by a plan over whole
/// leaves: `leaves{n, k, revolve{(n + k - 1) / k, s}}`. The inner plan may itself have leaves.   Cost: that of the
/// inner plan.
template <schedule Plan>
class leaves {
 public:
  class cursor;

  /// \param size  steps of a leaf, >= 1; more than `steps` means one leaf
  /// \throws invalid_plan   unless `over` has ceil(steps / size) steps
  constexpr leaves(step_index steps, step_index size, Plan over)
      : steps_{steps},
        size_{size},
        over_{checked(steps, size, std::move(over))},
        start_{over_.walk(), over_.steps(), steps, size} {}

  [[nodiscard]] constexpr step_index steps() const noexcept { return steps_; }  ///< loop length
  /// Steps of a leaf, as given.
  [[nodiscard]] constexpr step_index size() const noexcept { return size_; }
  [[nodiscard]] constexpr slot_index slots() const { return over_.slots(); }  ///< most states kept at once
  /// The most steps of one `reverse`: those of a leaf, or of the loop if it is shorter.
  [[nodiscard]] constexpr step_index leaf() const {
    wide const longest = wide(size_) * wide(over_.leaf());
    return longest < wide(steps_) ? step_index(longest) : steps_ < 1 ? 1 : steps_;
  }
  [[nodiscard]] constexpr slot_index tapes() const { return tapes_of(over_); }  ///< see `tapes_of`
  /// See `cairn::initial_is_free`.
  [[nodiscard]] constexpr bool initial_is_free() const { return cairn::initial_is_free(over_); }
  /// See `cairn::tapes_restart`.
  [[nodiscard]] constexpr bool tapes_restart() const { return cairn::tapes_restart(over_); }
  [[nodiscard]] constexpr bool runs_ahead() const { return cairn::runs_ahead(over_); }  ///< see `cairn::runs_ahead`
  /// See `cairn::learns_length`.
  [[nodiscard]] constexpr bool learns_length() const { return cairn::learns_length(over_); }
  /// See `reserved_memory`.
  [[nodiscard]] constexpr reserved_memory reserved() const { return reserved_of(over_); }
  [[nodiscard]] constexpr wide units() const { return units_of(over_).units; }  ///< see `units_of`
  /// See `units_of`; for the tape of one leaf.
  [[nodiscard]] constexpr wide tape_units() const { return units_of(over_).tape_units; }
  /// See `cairn::has_slot_tiers`.
  [[nodiscard]] constexpr bool has_slot_tiers() const { return cairn::has_slot_tiers(over_); }
  /// See `cairn::leaves_memory`.
  [[nodiscard]] constexpr bool leaves_memory() const { return cairn::leaves_memory(over_); }
  /// See `cairn::slot_tier`.
  [[nodiscard]] constexpr tier slot_tier(slot_index slot) const { return cairn::slot_tier(over_, slot); }
  /// See `cairn::is_checkpoint`; only the first state of a leaf can be one.
  [[nodiscard]] constexpr bool is_checkpoint(step_index i) const {
    return i % size_ == 0 && cairn::is_checkpoint(over_, i / size_);
  }
  /// See `shared_table_bytes_of`.
  [[nodiscard]] constexpr wide shared_table_bytes() const { return shared_table_bytes_of(over_); }
  [[nodiscard]] constexpr char const* remark() const { return remark_of(over_); }  ///< see `remark_of`
  [[nodiscard]] constexpr wide table_bytes() const { return table_bytes_of(over_); }  ///< see `table_bytes_of`
  [[nodiscard]] constexpr Plan const& inner() const noexcept { return over_; }  ///< the plan over whole leaves

  /// The totals of a sweep; in closed form if `is_counted()`, otherwise by a walk.
  [[nodiscard]] constexpr schedule_counts counts() const
    requires counted_schedule<Plan>
  {
    if (!is_counted()) return walked_counts(*this);
    schedule_counts sum = over_.counts();
    for (wide* const steps : {&sum.advances, &sum.turned, &sum.recorded, &sum.reversals, &sum.taped})
      *steps *= wide(size_);
    wide const missing = steps_ == 0 ? 0 : wide(over_.steps()) * wide(size_) - wide(steps_);
    sum.reversals -= missing;
    (sum.turned > 0 ? sum.turned : sum.advances) -= missing;
    return sum;
  }
  /// Whether the totals follow from the inner plan's. A short last leaf is run once, before the turn or in it, except
  /// by plans with tapes.
  [[nodiscard]] constexpr bool is_counted() const
    requires counted_schedule<Plan>
  {
    return knows_counts(over_) && (steps_ % size_ == 0 || tapes_of(over_) == 0);
  }

  /// The start; valid as long as the plan.
  [[nodiscard]] constexpr cursor const& walk() const noexcept { return start_; }

  /// Converts the inner cursor's actions from leaves to steps; copies advance independently.
  class cursor {
   public:
    /// Made by the plan.
    constexpr cursor(cursor_of<Plan> const& over, step_index count, step_index steps, step_index size)
        : over_{over}, count_{count}, steps_{steps}, size_{size} {}
    [[nodiscard]] constexpr action next() {  ///< the next action
      action a = over_.next();
      a.from = stretched(a.from);
      a.to = stretched(a.to);
      return a;
    }

   private:
    /// In unsigned arithmetic, so that even a wrong plan cannot cause undefined behaviour.
    [[nodiscard]] constexpr step_index stretched(step_index i) const noexcept {
      return i < count_ ? step_index(std::uint64_t(i) * std::uint64_t(size_)) : steps_;
    }

    cursor_of<Plan> over_;
    step_index count_, steps_, size_;
  };

 private:
  [[nodiscard]] static constexpr Plan checked(step_index steps, step_index size, Plan over) {
    if (steps < 0 || size < 1)
      throw invalid_plan{
          "cairn::leaves", "a loop has 0 or more steps, a leaf has 1 or more", {{"steps", steps}, {"leaf", size}}, ""};
    step_index const needed = detail::leaves_in(steps, size);
    if (over.steps() != needed)
      throw invalid_plan{
          "cairn::leaves",
          "the inner plan is not over the leaves of this loop",
          {{"steps", steps}, {"leaf", size}, {"steps of the inner plan", over.steps()}, {"leaves", needed}},
          "give it one step for each leaf"};
    return over;
  }

  step_index steps_, size_;
  Plan over_;
  cursor start_;
};
static_assert(schedule<leaves<uniform>>);

}  // namespace cairn
