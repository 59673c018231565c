// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file sequential_plans.hpp  Keeps the plans of Sequentials, so that children are measured once and not in each call.
#include <cstdint>
#include <vector>
#include <cairn/adapt/torch/checkpoint/detail/sequential_plan.hpp>
#include <cairn/adapt/torch/state/detail/plan_key.hpp>
#include <cairn/adapt/torch/state/detail/plan_store.hpp>
#include <cairn/rules/chain.hpp>

namespace cairn::libtorch {
namespace detail {

/// A plan without its stages, so that it keeps no module and no tensor alive.
struct stored_plan : plan_key {
  std::vector<bool> joins;
  std::vector<action> actions;
};

}  // namespace detail

/// Plans of `checkpoint_sequential`, each for the children, parameters, training mode, automatic casts, options and
/// input (sizes, strides, type, device) for which it was made. Refers to modules weakly; the plan of a destroyed module
/// is dropped. If there are too many plans, the least recently used is dropped. Can be used by several threads.
class SequentialPlans : public detail::plan_store<detail::stored_plan> {
 public:
  /// \param most  most plans to keep, >= 1   \throws invalid_call   for less
  explicit SequentialPlans(std::int64_t most = 16) : plan_store{"cairn::libtorch::SequentialPlans", most} {}

  /// How often children were measured and a plan was made, including plans that were dropped.
  [[nodiscard]] std::int64_t made() const { return plan_store::made(); }
  /// Number of plans it holds.
  [[nodiscard]] std::int64_t size() const { return plan_store::size(); }
  /// Drops all plans: the next call measures again.
  void clear() { plan_store::clear(); }
};

namespace detail {

/// The default place for plans of a thread's calls.
[[nodiscard]] inline SequentialPlans& plans_of_this_thread() {
  static thread_local SequentialPlans plans;
  return plans;
}

}  // namespace detail
}  // namespace cairn::libtorch
