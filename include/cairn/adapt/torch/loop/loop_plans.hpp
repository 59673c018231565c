// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file loop_plans.hpp  Keeps what loops within a memory limit have measured, so that steps are not measured in each
/// call.
#include <cstdint>
#include <cairn/adapt/torch/loop/loop_costs.hpp>
#include <cairn/adapt/torch/state/detail/plan_key.hpp>
#include <cairn/adapt/torch/state/detail/plan_store.hpp>

namespace cairn::libtorch {
namespace detail {

/// What a plan of a loop is made from. Holds no tensor and no module.
struct stored_costs : plan_key {
  loop_costs costs;
};

}  // namespace detail

/// What loops with a memory limit have measured of their steps. Each plan is for a number of steps, a limit, options,
/// automatic casts, and tensors (sizes, strides, type, device, shared memory, whether a gradient is required) of the
/// initial state, inputs and named captures; for the class of the step; and, if the step is a module, for that module,
/// its parameters and modes. Objects of one class, such as two `std::function`, count as one step: give each step a
/// `LoopPlans` of its own. Refers to modules weakly; the plan of a destroyed module is dropped. If there are too many
/// plans, the least recently used is dropped. Can be used by several threads.
class LoopPlans : public detail::plan_store<detail::stored_costs> {
 public:
  /// \param most  most plans to keep, >= 1   \throws invalid_call   for less
  explicit LoopPlans(std::int64_t most = 16) : plan_store{"cairn::libtorch::LoopPlans", most} {}

  /// How often steps were measured and a plan was made, including plans that were dropped.
  [[nodiscard]] std::int64_t made() const { return plan_store::made(); }
  /// Number of plans it holds.
  [[nodiscard]] std::int64_t size() const { return plan_store::size(); }
  /// Drops all plans: the next call measures again.
  void clear() { plan_store::clear(); }
};

namespace detail {

/// The place for plans of a thread's loops whose step is a module.
[[nodiscard]] inline LoopPlans& loop_plans_of_this_thread() {
  static thread_local LoopPlans plans;
  return plans;
}

}  // namespace detail
}  // namespace cairn::libtorch
