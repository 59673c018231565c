// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file leaves.hpp  Any schedule over leaves: runs of several steps that one adjoint call reverses.
#include <utility>
#include <cairn/core/action.hpp>
#include <cairn/core/error.hpp>
#include <cairn/schedule/detail/leaves_in.hpp>
#include <cairn/schedule/detail/plan_around.hpp>
#include <cairn/schedule/uniform.hpp>
#include <cairn/schedule/walked_counts.hpp>

namespace cairn {

/// A loop of `steps` steps as leaves of `size` steps, the last one possibly shorter, scheduled by a plan over whole
/// leaves: `leaves{n, k, revolve{(n + k - 1) / k, s}}`. The inner plan may itself have leaves.   Cost: that of the
/// inner plan.
template <schedule Plan>
class leaves : public detail::plan_around<Plan> {
  using detail::plan_around<Plan>::plan_;

 public:
  class cursor;

  /// \param size  steps of a leaf, >= 1; more than `steps` means one leaf
  /// \throws invalid_plan   unless `over` has ceil(steps / size) steps
  constexpr leaves(step_index steps, step_index size, Plan over)
      : detail::plan_around<Plan>{checked(steps, size, std::move(over))},
        steps_{steps},
        size_{size},
        start_{plan_.walk(), plan_.steps(), steps, size} {}

  [[nodiscard]] constexpr step_index steps() const noexcept { return steps_; }  ///< loop length
  /// Steps of a leaf, as given.
  [[nodiscard]] constexpr step_index size() const noexcept { return size_; }
  /// The most steps of one `reverse`: those of a leaf, or of the loop if it is shorter.
  [[nodiscard]] constexpr step_index leaf() const {
    wide const longest = wide(size_) * wide(plan_.leaf());
    return longest < wide(steps_) ? step_index(longest) : steps_ < 1 ? 1 : steps_;
  }
  /// See `cairn::is_checkpoint`; only the first state of a leaf can be one.
  [[nodiscard]] constexpr bool is_checkpoint(step_index i) const {
    return i % size_ == 0 && cairn::is_checkpoint(plan_, i / size_);
  }

  /// The totals of a sweep; in closed form if `is_counted()`, otherwise by a walk.
  [[nodiscard]] constexpr schedule_counts counts() const
    requires counted_schedule<Plan>
  {
    if (!is_counted()) return walked_counts(*this);
    schedule_counts sum = plan_.counts();
    for (wide* const steps : {&sum.advances, &sum.turned, &sum.recorded, &sum.reversals, &sum.taped})
      *steps *= wide(size_);
    wide const missing = steps_ == 0 ? 0 : wide(plan_.steps()) * wide(size_) - wide(steps_);
    sum.reversals -= missing;
    (sum.turned > 0 ? sum.turned : sum.advances) -= missing;
    return sum;
  }
  /// Whether the totals follow from the inner plan's. A short last leaf is run once, before the turn or in it, except
  /// by plans with tapes.
  [[nodiscard]] constexpr bool is_counted() const
    requires counted_schedule<Plan>
  {
    return knows_counts(plan_) && (steps_ % size_ == 0 || tapes_of(plan_) == 0);
  }

  /// The start; valid as long as the plan.
  [[nodiscard]] constexpr cursor const& walk() const noexcept { return start_; }

  /// Converts the inner cursor's actions from leaves to steps; copies advance independently.
  class cursor {
   public:
    /// Made by the plan.
    constexpr cursor(cursor_of<Plan> const& over, step_index count, step_index steps, step_index size)
        : over_{over}, first_{count, steps, size} {}
    [[nodiscard]] constexpr action next() {  ///< the next action
      action a = over_.next();
      a.from = first_(a.from);
      a.to = first_(a.to);
      return a;
    }

   private:
    cursor_of<Plan> over_;
    detail::first_step first_;
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
  cursor start_;
};
static_assert(schedule<leaves<uniform>>);

}  // namespace cairn
