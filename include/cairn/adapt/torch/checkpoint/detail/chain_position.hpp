// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file chain_position.hpp  How far a chain has come in its plan.
#include <cstddef>
#include <functional>
#include <utility>
#include <vector>
#include <cairn/rules/chain.hpp>
#include <cairn/rules/detail/chain_walk.hpp>

namespace cairn::libtorch::detail {

/// For each stage, whether the plan ever runs it other than directly after the stage before it, so that the
/// generators must be set for it.
/// \pre all stages are in range
[[nodiscard]] inline std::vector<bool> begins_of(std::vector<action> const& plan, step_index stages) {
  std::vector<bool> begins(static_cast<std::size_t>(stages));
  step_index last = -1;
  for (auto const& a : plan) {
    if (cairn::detail::runs_stage(a)) {
      if (a.from != last + 1 || a.from == 0) begins[std::size_t(a.from)] = true;
      last = a.from;
    } else if (a.kind == action_kind::reverse || a.kind == action_kind::turn) {
      last = -1;
    }
  }
  return begins;
}

/// For each stage, whether the plan runs it more than once.   \param who  is named in errors
/// \throws invalid_schedule   if a chain of that many stages cannot obey the plan
[[nodiscard]] inline std::vector<bool> repeated_stages(std::vector<action> const& plan, step_index stages,
                                                       char const* who) {
  cairn::detail::chain_walk walk{stages, {}, who};
  std::vector<bool> runs(static_cast<std::size_t>(stages)), repeated(runs.size());
  for (auto const& a : plan) {
    walk.check(a);
    walk.check_state(a);
    walk.apply(a);
    if (!cairn::detail::runs_stage(a)) continue;
    auto const i = std::size_t(a.from);
    repeated[i] = runs[i];
    runs[i] = true;
  }
  walk.finish();
  return repeated;
}

/// How far a chain has come in its plan.
class chain_position {
 public:
  /// \param plan  for `stages` stages   \param told  called before each action after the loss; may be empty
  chain_position(std::vector<action> plan, step_index stages, std::function<void(action const&)> told)
      : plan_{std::move(plan)}, told_{std::move(told)}, stages_{stages} {}

  [[nodiscard]] std::vector<action> const& plan() const noexcept { return plan_; }
  [[nodiscard]] action const& next() const { return plan_[next_]; }
  /// Passes the next action, which was obeyed.
  void pass() {
    auto const& a = next();
    if (a.kind == action_kind::turn) turned_ = true;
    if (a.kind == action_kind::reverse) reversed_ = a.from;
    ++next_;
  }
  /// Whether the next action is the adjoint of stage i.
  [[nodiscard]] bool is_at(step_index i) const { return next().kind == action_kind::reverse && next().from == i; }
  /// Whether the plan has passed the adjoint of stage i.
  [[nodiscard]] bool is_past(step_index i) const noexcept { return reversed_ <= i; }
  /// Whether a later action reads the present state i.
  [[nodiscard]] bool needs_again(step_index i) const {
    for (std::size_t k = next_ + 1; k < plan_.size(); ++k) {
      auto const& a = plan_[k];
      if (cairn::detail::runs_stage(a) && a.from == i) return true;
      if (i > 0 &&
          ((cairn::detail::runs_stage(a) && a.from == i - 1) || (a.kind == action_kind::reverse && a.from == i - 1)))
        return false;
    }
    return false;
  }
  /// Calls `told` for the next action, once.
  void tell() {
    if (!told_ || !turned_ || next_ < told_actions_) return;
    told_(next());
    told_actions_ = next_ + 1;
  }
  /// Goes back to the beginning of the plan.
  void restart() {
    next_ = told_actions_ = 0;
    turned_ = false;
    reversed_ = stages_;
  }

 private:
  std::vector<action> plan_;
  std::function<void(action const&)> told_;
  step_index stages_;
  std::size_t next_ = 0;            ///< index of the next action
  std::size_t told_actions_ = 0;    ///< number of actions for which `told` was called
  step_index reversed_ = stages_;   ///< the last stage whose adjoint the plan has passed
  bool turned_ = false;
};

}  // namespace cairn::libtorch::detail
