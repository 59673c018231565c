// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file sequential.hpp  A torch::nn::Sequential under checkpoints: in segments, or within a memory limit.
#include <cstdint>
#include <memory>
#include <optional>
#include <utility>
#include <vector>
#include <ATen/core/Tensor.h>
#include <ATen/core/grad_mode.h>
#include <torch/arg.h>
#include <torch/csrc/jit/frontend/tracer.h>
#include <torch/nn/modules/container/sequential.h>
#include <cairn/adapt/torch/checkpoint/checkpoint_policy.hpp>
#include <cairn/adapt/torch/checkpoint/detail/chain_frame.hpp>
#include <cairn/adapt/torch/checkpoint/detail/saved_hooks.hpp>
#include <cairn/adapt/torch/checkpoint/detail/sequential_plan.hpp>
#include <cairn/adapt/torch/checkpoint/sequential_plans.hpp>
#include <cairn/adapt/torch/memory/memory_limit.hpp>
#include <cairn/adapt/torch/state/determinism.hpp>
#include <cairn/adapt/torch/state/rng.hpp>
#include <cairn/core/bytes.hpp>
#include <cairn/core/error.hpp>
#include <cairn/plan/block/block_plan.hpp>
#include <cairn/plan/block/detail/ceil_root.hpp>

namespace cairn::libtorch {

/// Options of a checkpointed Sequential. By default, the limit of `set_memory_limit` applies; without a limit, there
/// are about sqrt(n) segments. A child that changes its input in place, or returns its input or a view of it, then
/// counts as one with the child before.
struct CheckpointedSequentialOptions {
  /// Number of segments: each but the last keeps only its input, and is run again in backward. 0 means chosen
  /// automatically.
  TORCH_ARG(std::int64_t, segments) = 0;
  /// Whether recomputation draws the same random numbers.
  TORCH_ARG(Rng, rng) = Rng::Preserve;
  /// How closely the tensors saved by a recomputation are compared with the first ones.
  TORCH_ARG(Check, determinism) = Check::Metadata;
  /// Which operators keep their results in children that are run again, as in a region. Called only for these children,
  /// in which `cairn::libtorch::keep` also works as in a region. Cannot be combined with a memory limit, which does not
  /// know the size of these results. By default all operators run again.
  TORCH_ARG(checkpoint_policy, policy) = {};
  /// Where plans are kept between calls, so that children are measured only once for each shape of the input: by
  /// default a place of the calling thread (`checkpoint_sequential`), or of the module (`CheckpointedSequential`).
  TORCH_ARG(std::shared_ptr<SequentialPlans>, plans) = nullptr;
  /// Most bytes that autograd and the chain hold at once, such as "64MB". The parameters, the input, the output and
  /// their gradients belong to the caller and are not counted; a view takes no bytes of its own. The children are
  /// measured on the input, within the limit, and the fastest plan within the limit is used; if the plain call fits,
  /// that is the plain call. A second backward of a retained graph runs the last child again: its second output is not
  /// counted.
  TORCH_ARG(std::optional<byte_size>, memory_limit) = {};
};

namespace detail {

/// \throws invalid_plan, infeasible_budget
[[nodiscard]] inline sequential_plan plan_sequential(std::vector<tensor_stage> stages, at::Tensor const& x,
                                                     CheckpointedSequentialOptions const& options, char const* who) {
  if (options.memory_limit()) {
    if (options.segments() != 0)
      throw invalid_plan{who,
                         "segments and a memory limit are given",
                         {{"segments", options.segments()}, {"limit", options.memory_limit()->count()}},
                         "give one of them"};
    return plan_within_limit(std::move(stages), x, std::int64_t(options.memory_limit()->count()), options.rng(), who);
  }
  std::vector<bool> joins;
  if (options.segments() == 0) {
    measured_stages measured{std::move(stages), x, options.rng()};
    stages = std::move(measured.stages);
    joins = std::move(measured.joined);
  }
  auto const count = step_index(stages.size());
  auto plan = plan_segments(
      std::move(stages),
      block_plan::balanced(count, options.segments() != 0 ? options.segments() : cairn::detail::ceil_root(count, 2)));
  plan.joins = std::move(joins);
  return plan;
}
/// The plan for the children of a Sequential and an input: a kept one, or a new one that is then kept.
/// \param plans  the place, unless the options name another   \throws as `plan_sequential`
[[nodiscard]] inline sequential_plan cached_or_new_plan(torch::nn::SequentialImpl& of, at::Tensor const& x,
                                                        CheckpointedSequentialOptions options, SequentialPlans& plans,
                                                        char const* who) {
  if (auto const limit = libtorch::memory_limit();
      limit && !options.memory_limit() && options.segments() == 0 && !options.policy())
    options.memory_limit(*limit);
  if (options.policy() && options.memory_limit())
    throw invalid_plan{who,
                       "a policy and a memory limit are given",
                       {{"limit", options.memory_limit()->count()}},
                       "give one of them: a limit does not count what a policy keeps"};
  if (options.segments() != 0) return plan_sequential(stages_of(of), x, options, who);  // needs no measurement
  auto& place = options.plans() ? *options.plans() : plans;
  auto key = sequential_key(of, x);
  key.push_back(std::int64_t(options.rng()));
  key.push_back(options.memory_limit() ? std::int64_t(options.memory_limit()->count()) : -1);
  if (auto kept = place.find(key))
    return {joined_stages(stages_of(of), kept->joins), std::move(kept->actions), std::move(kept->joins)};
  auto plan = plan_sequential(stages_of(of), x, options, who);
  stored_plan keeps{{std::move(key), {}}, plan.joins, plan.actions};
  for (auto const& one : of.modules(false)) keeps.modules.push_back(one);
  place.keep(std::move(keeps));
  return plan;
}
[[nodiscard]] inline at::Tensor run_chain(sequential_plan const& plan, at::Tensor const& x, chain_frame::settings how) {
  if (plan.actions.empty()) {
    auto y = x;
    for (auto const& stage : plan.stages) y = stage.run(y);
    return y;
  }
  need_saved_hooks(how.who);
  return std::make_shared<chain_frame>(plan.stages, plan.actions, std::move(how))->forward(x);
}

}  // namespace detail

/// `seq->forward(x)` under checkpoints. The graph is the plain one; only what it saves is freed and recomputed. So
/// gradients have the bits of the plain call, hooks run once, buffers such as running means are updated once, and
/// retain_graph and double backward work. A second backward of a retained graph runs the chain from the input once
/// more. Without grad mode it is the plain call.
/// \param segments  number of segments, which differ by at most one child; 0: by `memory_limit` or about sqrt(n)
/// \param x  the children take a tensor and return one
/// Cost: without a number of segments, the first call for these children and this shape of the input measures the
/// children by two forward runs and one backward, and plans; later calls in this thread look the plan up. Other changes
/// of a child's work, such as of a dropout's probability, are not noticed: pass `plans` of your own, and clear them
/// \throws invalid_plan   for more segments than children   \throws infeasible_budget   with the least feasible limit
/// \throws invalid_call   if a segment begins with a child that changes its input in place; and as `checkpoint`, also
///   in backward
[[nodiscard]] inline at::Tensor checkpoint_sequential(torch::nn::Sequential const& seq, std::int64_t segments,
                                                      at::Tensor const& x, CheckpointedSequentialOptions options = {}) {
  constexpr char const* who = "cairn::libtorch::checkpoint_sequential";
  auto modules = seq;
  bool const is_traced = torch::jit::tracer::isTracing();  // the plan of a captured call covers the children
  if (!at::GradMode::is_enabled() || modules->is_empty() || is_traced) return modules->forward(x);
  options.segments(segments);
  detail::need_saved_hooks(who);
  auto const plan = detail::cached_or_new_plan(*modules, x, options, detail::plans_of_this_thread(), who);
  return detail::run_chain(plan, x, {options.rng(), options.determinism(), who, {}, options.policy()});
}

}  // namespace cairn::libtorch
