#pragma once
/// \file sequential_plan.hpp  From measured stages and a limit to the actions that a chain of tensors runs by.
#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>
#include <ATen/autocast_mode.h>
#include <ATen/core/Tensor.h>
#include <torch/nn/module.h>
#include <cairn/adapt/torch/ambient.hpp>
#include <cairn/adapt/torch/chain_frame.hpp>
#include <cairn/adapt/torch/sequential_probe.hpp>
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
  std::vector<tensor_stage> stages;  ///< those that change their input in place joined to the one before
  std::vector<chain_action> actions;
};

/// The stages that change their input in place run as one with the stage before them: so no state is kept that changes.
[[nodiscard]] inline std::vector<tensor_stage> joined_stages(std::vector<tensor_stage> const& stages, std::vector<bool> const& changes_input) {
  std::vector<tensor_stage> joined;
  for (std::size_t i = 0; i < stages.size(); ++i) {
    if (i == 0 || !changes_input[i]) {
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
struct measured_stages {
  std::vector<tensor_stage> stages;
  chain work;

  measured_stages(std::vector<tensor_stage> given, at::Tensor const& x) : stages{std::move(given)} {
    auto found = measure_stages(stages, x);
    if (auto joined = joined_stages(stages, found.changes_input); joined.size() < stages.size()) {
      stages = std::move(joined);
      found = measure_stages(stages, x);
    }
    work = std::move(found.work);
  }
};

/// Blocks for stages that were not measured.
[[nodiscard]] inline sequential_plan plan_segments(std::vector<tensor_stage> stages, block_plan const& blocks) {
  chain const unmeasured{.x = std::vector<std::int64_t>(stages.size() + 1), .s = std::vector<std::int64_t>(stages.size()), .u = std::vector<std::int64_t>(stages.size())};
  return {std::move(stages), actions_of(blocks, unmeasured)};
}

/// The fastest plan within a limit.
/// \throws infeasible_budget   that says the least
[[nodiscard]] inline sequential_plan plan_within_limit(std::vector<tensor_stage> given, at::Tensor const& x, std::int64_t limit, Rng rng, char const* who) {
  measured_stages measured{std::move(given), x};
  step_index const stages = step_index(measured.stages.size());
  std::int64_t generators = 0;
  if (rng == Rng::Preserve && x.is_cpu()) {
    auto const one = at::detail::getDefaultCPUGenerator().get_state();
    generators = std::int64_t(one.nbytes()) * (stages + 2);
  }
  std::int64_t least = 0;
  for (auto const by : {chain_method::automatic, chain_method::persistent}) {
    chain_planner planner{measured.work, {.by = by}};
    least = planner.least_bytes() + generators;
    if (limit < least) continue;
    auto plan = planner.plan(limit - generators);
    if (keeps_states_of_tapes(plan.actions, stages)) return {std::move(measured.stages), std::move(plan.actions)};
  }
  throw infeasible_budget{who, "the stages do not fit the memory limit", {{"limit", limit}, {"least", least}, {"of it for generators", generators}, {"stages", stages}},
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
