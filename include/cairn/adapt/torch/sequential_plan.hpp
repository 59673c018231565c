#pragma once
/// \file sequential_plan.hpp  From measured stages and a limit to the actions that a chain of tensors runs by.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>
#include <ATen/autocast_mode.h>
#include <ATen/core/Tensor.h>
#include <torch/nn/module.h>
#include <cairn/adapt/torch/ambient.hpp>
#include <cairn/adapt/torch/chain_frame.hpp>
#include <cairn/adapt/torch/sequential_measures.hpp>
#include <cairn/adapt/torch/tensor_stage.hpp>
#include <cairn/adapt/torch/versions.hpp>
#include <cairn/core/chain.hpp>
#include <cairn/core/error.hpp>
#include <cairn/plan/block/block_plan.hpp>
#include <cairn/plan/block/block_replay.hpp>
#include <cairn/plan/chain/chain_planner.hpp>

namespace cairn::detail {

/// Stages and what is done with them.
struct sequential_plan {
  std::vector<tensor_stage> stages;
  std::vector<chain_action> actions;  ///< none: the plain call
};

/// A stage that changes its input in place, or whose output is its input or a view of it, runs as one with the stage before it. So no state is kept that
/// changes, and none that would keep the memory of the one before.
[[nodiscard]] inline std::vector<tensor_stage> joined_stages(std::vector<tensor_stage> const& stages, std::vector<bool> const& joins) {
  std::vector<tensor_stage> joined;
  for (std::size_t i = 0; i < stages.size(); ++i) {
    if (i == 0 || !joins[i]) {
      joined.push_back(stages[i]);
      continue;
    }
    auto& before = joined.back();
    before.run = [first = before.run, second = stages[i].run](at::Tensor const& x) { return second(first(x)); };
    before.buffers.insert(before.buffers.end(), stages[i].buffers.begin(), stages[i].buffers.end());
  }
  return joined;
}
/// Measures stages, joined where they must be.
struct measured_stages : stage_measures {
  std::vector<tensor_stage> stages;

  measured_stages(std::vector<tensor_stage> given, at::Tensor const& x, Rng rng) : stage_measures{measure_stages(given, x, rng)}, stages{joined_stages(given, joins)} {
    if (stages.size() == given.size()) return;
    auto const before = measuring_peak;
    static_cast<stage_measures&>(*this) = measure_stages(stages, x, rng);
    measuring_peak = (std::max)(measuring_peak, before);
  }
};

/// Blocks for stages that were not measured.
[[nodiscard]] inline sequential_plan plan_segments(std::vector<tensor_stage> stages, block_plan const& blocks) {
  chain const unmeasured{.x = std::vector<std::int64_t>(stages.size() + 1), .s = std::vector<std::int64_t>(stages.size()), .u = std::vector<std::int64_t>(stages.size())};
  return {std::move(stages), actions_of(blocks, unmeasured)};
}

/// The plain call where it fits a limit, or else the fastest plan within that.
/// \throws infeasible_budget   that says the least
[[nodiscard]] inline sequential_plan plan_within_limit(std::vector<tensor_stage> given, at::Tensor const& x, std::int64_t limit, Rng rng, char const* who) {
  measured_stages measured{std::move(given), x, rng};
  std::int64_t const plain = (std::max)(measured.plain_peak, measured.measuring_peak);
  if (limit >= plain) return {std::move(measured.stages), {}};
  step_index const stages = step_index(measured.stages.size());
  std::int64_t const generators = generator_bytes(x, rng) * (stages + 2);
  std::int64_t least = plain;
  for (auto const by : {chain_method::automatic, chain_method::persistent}) {
    chain_planner planner{measured.work, {.by = by}};
    least = (std::min)(plain, (std::max)(planner.least_bytes() + generators, measured.measuring_peak));
    if (limit < least) continue;
    auto plan = planner.plan(limit - generators);
    if (keeps_states_of_tapes(plan.actions, stages)) return {std::move(measured.stages), std::move(plan.actions)};
  }
  throw infeasible_budget{who, "the stages do not fit the memory limit", {{"limit", limit}, {"least", least}, {"of it for generators", least < plain ? generators : 0}, {"stages", stages}},
                          "give the least, or more; parameters, the input, the output and the gradients of these are not counted"};
}

/// What a plan of modules was made for, as numbers to be compared: modules, modes, parameters, input, and automatic casts.
[[nodiscard]] inline std::vector<std::int64_t> sequential_key(torch::nn::Module const& module, at::Tensor const& x) {
  std::vector<std::int64_t> key;
  auto const add = [&](auto const& value) { key.push_back(std::int64_t(value)); };
  auto const add_look = [&](at::Tensor const& t) {
    add(t.dim());
    for (auto const size : t.sizes()) add(size);
    add(t.scalar_type());
    add(t.device().type());
    add(t.device().index());
    add(t.requires_grad());
  };
  for (auto const& one : module.modules()) {
    add(reinterpret_cast<std::intptr_t>(one.get()));
    add(one->is_training());
  }
  for (auto const& one : module.parameters()) {
    add(reinterpret_cast<std::intptr_t>(one.unsafeGetTensorImpl()));
    add_look(one);
  }
  add_look(x);
  for (auto const device : {at::kCPU, at::kCUDA}) {
    add(autocast_is_on(device));
    add(autocast_type(device));
  }
  return key;
}

}  // namespace cairn::detail
