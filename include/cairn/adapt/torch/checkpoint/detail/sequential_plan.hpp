// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file sequential_plan.hpp  Makes the actions of a chain of tensors from measured stages and a limit.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <utility>
#include <vector>
#include <ATen/core/Tensor.h>
#include <torch/nn/module.h>
#include <cairn/adapt/torch/checkpoint/detail/chain_frame.hpp>
#include <cairn/adapt/torch/checkpoint/detail/sequential_measures.hpp>
#include <cairn/adapt/torch/checkpoint/detail/tensor_stage.hpp>
#include <cairn/adapt/torch/state/detail/plan_key.hpp>
#include <cairn/core/error.hpp>
#include <cairn/plan/block/block_plan.hpp>
#include <cairn/plan/block/block_replay.hpp>
#include <cairn/plan/chain/chain_options.hpp>
#include <cairn/plan/chain/chain_planner.hpp>
#include <cairn/plan/chain/detail/chain_interpreter.hpp>
#include <cairn/plan/chain/detail/chain_model.hpp>
#include <cairn/rules/chain.hpp>

namespace cairn::libtorch::detail {

/// Stages and the actions over them.
struct sequential_plan {
  std::vector<tensor_stage> stages;
  std::vector<action> actions;  ///< empty for the plain call
  /// For each child, whether it is joined to the child before it; empty if each child is a stage.
  std::vector<bool> joins = {};
};

/// A stage that changes its input in place, or whose output is its input or a view of it, is joined to the stage before
/// it. So no kept state changes, and none keeps the memory of the state before it alive.
[[nodiscard]] inline std::vector<tensor_stage> joined_stages(std::vector<tensor_stage> const& stages,
                                                             std::vector<bool> const& joins) {
  std::vector<tensor_stage> joined;
  for (std::size_t i = 0; i < stages.size(); ++i) {
    if (i == 0 || joins.empty() || !joins[i]) {
      joined.push_back(stages[i]);
      continue;
    }
    auto& before = joined.back();
    before.run = [first = before.run, second = stages[i].run](at::Tensor const& x) { return second(first(x)); };
    before.buffers.insert(before.buffers.end(), stages[i].buffers.begin(), stages[i].buffers.end());
  }
  return joined;
}
/// Measures stages, joined where necessary.
struct measured_stages : stage_measures {
  std::vector<bool> joined;  ///< for each given stage
  std::vector<tensor_stage> stages;

  measured_stages(std::vector<tensor_stage> given, at::Tensor const& x, Rng rng)
      : stage_measures{measure_stages(given, x, rng)}, joined{joins}, stages{joined_stages(given, joined)} {
    if (stages.size() == given.size()) return;
    auto const before = measuring_peak;
    static_cast<stage_measures&>(*this) = measure_stages(stages, x, rng);
    measuring_peak = (std::max)(measuring_peak, before);
  }
};

/// Blocks for stages that were not measured.
[[nodiscard]] inline sequential_plan plan_segments(std::vector<tensor_stage> stages, block_plan const& blocks) {
  chain const unmeasured{.x = std::vector<std::int64_t>(stages.size() + 1),
                         .s = std::vector<std::int64_t>(stages.size()),
                         .u = std::vector<std::int64_t>(stages.size())};
  return {std::move(stages), actions_of(blocks, unmeasured)};
}

/// The most bytes that a plan holds, states of generators and buffers as they were included.
[[nodiscard]] inline std::int64_t bytes_held(measured_stages const& measured, std::vector<action> const& actions) {
  chain work = measured.work;
  work.f = measured.recording;
  cairn::detail::chain_model const model{work, "cairn::libtorch::checkpoint_sequential"};
  cairn::detail::chain_interpreter player{model, {}, "cairn::libtorch::checkpoint_sequential"};
  std::int64_t peak = 0;
  for (auto const& a : actions) {
    player.obey(a);
    if (a.kind == action_kind::advance) peak = (std::max)(peak, player.live() + measured.bare[std::size_t(a.from)]);
  }
  auto const begins = begins_of(actions, step_index(measured.stages.size()));
  std::int64_t const generators =
      std::count(begins.begin(), begins.end(), true) + 1;  // and the present states, during recomputation
  auto const buffers = std::accumulate(measured.changing.begin(), measured.changing.end(), std::int64_t{0});
  return (std::max)(peak, player.peak()) + generators * measured.generator + buffers;
}
/// Finds plans within a limit for measured stages. Planners know one number of temporary bytes per stage, but a
/// recorded run and an unrecorded run differ. A first planner therefore uses too small a number for the latter, and the
/// bytes of its plan are found by walking it; a second planner uses too large a number.
class limit_planner {
 public:
  explicit limit_planner(measured_stages const& measured) : measured_{measured}, works_{measured.work, measured.work} {
    works_.front().f = measured.recording;
    for (std::size_t i = 0; i < measured.bare.size(); ++i) {
      auto const tape_alone = measured.work.s[i] - measured.work.x[i + 1];
      works_.front().f[i] = (std::max)(works_.front().f[i], measured.bare[i] - tape_alone);
    }
    for (auto const by : {chain_method::automatic, chain_method::persistent})
      for (auto const& work : works_) planners_.emplace_back(work, chain_options{.by = by});
  }
  /// The least bytes of any plan found; the largest number if there is none.
  [[nodiscard]] std::int64_t least() {
    if (least_ < 0) {
      least_ = cairn::detail::endless;
      for (auto work : works_) {
        work.u.assign(work.u.size(), 1);  // measured times vary from call to call, and the least bytes must not
        work.v.assign(work.v.size(), 1);
        chain_planner planner{std::move(work), {.by = chain_method::persistent}};
        auto const fewest = planner.least_bytes();
        if (fewest >= least_) continue;
        for (auto const budget :
             {fewest, fewest + fewest / 32, fewest + fewest / 16}) {  // a few more bytes may save states of generators
          auto actions = planner.plan(budget).actions;
          auto const held = usable(actions) ? bytes_held(measured_, actions) : cairn::detail::endless;
          if (held >= least_) continue;
          least_ = held;
          smallest_ = std::move(actions);
        }
      }
    }
    return least_;
  }
  /// A fast plan that holds at most `limit` bytes.   \pre limit >= least()
  [[nodiscard]] std::vector<action> within(std::int64_t limit) {
    constexpr int most_tries = 12;  // the generators' bytes are few, so that one or two attempts usually suffice
    for (auto& planner : planners_) {
      std::int64_t const fewest = planner.least_bytes();
      std::int64_t budget = limit;
      for (int tries = 0; tries < most_tries && budget >= fewest; ++tries) {
        auto plan = planner.plan(budget);
        if (!usable(plan.actions)) break;
        auto const over = bytes_held(measured_, plan.actions) - limit;
        if (over <= 0) return std::move(plan.actions);
        budget = (std::min)(budget, plan.cost.peak) - over;
      }
    }
    (void)least();
    return smallest_;
  }

 private:
  [[nodiscard]] bool usable(std::vector<action> const& actions) const {
    return keeps_states_of_tapes(actions, step_index(measured_.stages.size()));
  }

  measured_stages const& measured_;
  std::vector<chain> works_;  ///< with too small and with too large temporary bytes
  std::vector<chain_planner> planners_;
  std::int64_t least_ = -1;
  std::vector<action> smallest_;
};

/// The plain call if it fits the limit, otherwise a fast plan within it.
/// \throws infeasible_budget   with the least feasible limit
[[nodiscard]] inline sequential_plan plan_within_limit(std::vector<tensor_stage> given, at::Tensor const& x,
                                                       std::int64_t limit, Rng rng, char const* who) {
  measured_stages measured{std::move(given), x, rng};
  std::int64_t const plain = (std::max)(measured.plain_peak, measured.measuring_peak);
  if (limit >= plain) return {std::move(measured.stages), {}, std::move(measured.joined)};
  limit_planner planner{measured};
  std::int64_t const least = (std::min)(plain, (std::max)(planner.least(), measured.measuring_peak));
  if (limit < least)
    throw infeasible_budget{
        who,
        "the stages do not fit the memory limit",
        {{"limit", limit}, {"least", least}, {"stages", measured.stages.size()}},
        "give the least, or more; parameters, the input, the output and the gradients of these are not counted"};
  auto actions = planner.within(limit);
  return {std::move(measured.stages), std::move(actions), std::move(measured.joined)};
}

/// What a plan of a module's children depends on, as numbers that can be compared: modules, modes, parameters, input,
/// and automatic casts.
[[nodiscard]] inline std::vector<std::int64_t> sequential_key(torch::nn::Module const& module, at::Tensor const& x) {
  plan_key key;
  for (auto const& one : module.modules(false)) key.add_module(*one);
  key.add_parameters(module);
  key.add_metadata(x);
  for (auto const stride : x.strides()) key.add(stride);
  key.add_autocast();
  return std::move(key.key);
}

}  // namespace cairn::libtorch::detail
