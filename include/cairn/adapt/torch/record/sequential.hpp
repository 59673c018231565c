// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file sequential.hpp  A torch::nn::Sequential under checkpoints: in segments, or within a memory limit.
#include <cairn/language.hpp>  // first: an older language gets its message

#include <cstdint>
#include <memory>
#include <optional>
#include <ostream>
#include <utility>
#include <vector>
#include <ATen/core/Tensor.h>
#include <ATen/core/grad_mode.h>
#include <torch/arg.h>
#include <torch/csrc/jit/frontend/tracer.h>
#include <torch/nn/module.h>
#include <torch/nn/modules/container/any.h>
#include <torch/nn/modules/container/sequential.h>
#include <torch/nn/pimpl.h>
#include <cairn/adapt/torch/checkpoint/checkpoint_policy.hpp>
#include <cairn/adapt/torch/memory/process_memory.hpp>
#include <cairn/adapt/torch/record/detail/call_record.hpp>
#include <cairn/adapt/torch/record/detail/record_scope.hpp>
#include <cairn/adapt/torch/record/record_report.hpp>
#include <cairn/adapt/torch/state/detail/versions.hpp>
#include <cairn/core/byte_budget.hpp>
#include <cairn/core/bytes.hpp>
#include <cairn/core/error.hpp>
#include <cairn/plan/block/block_plan.hpp>
#include <cairn/plan/block/detail/ceil_root.hpp>
#include <cairn/rules/chain.hpp>

namespace cairn::libtorch {

/// Options of a checkpointed Sequential. By default, the limit of `set_memory_limit` applies; without a limit, there
/// are about sqrt(n) segments.
struct CheckpointedSequentialOptions {
  /// Number of segments: each but the last is a region, which keeps only its input. 0 means chosen automatically.
  TORCH_ARG(std::int64_t, segments) = 0;
  /// Which operators' results are held in segments, as in a region; `cairn::libtorch::keep` works there, too. Cannot be
  /// combined with a memory limit, which decides itself what is held. By default none.
  TORCH_ARG(checkpoint_policy, policy) = {};
  /// A limit in place of segments, such as "64MB": as for `checkpoint_module`.
  TORCH_ARG(std::optional<byte_size>, memory_limit) = {};
  /// Whether a step that passes the limit throws, in place of a notice.
  TORCH_ARG(bool, strict) = false;
  /// Whether each saved tensor that is made again is compared with what it was, by a sum of 64 bits.
  TORCH_ARG(bool, verify) = false;
};

namespace detail {

/// The limit in force; none for segments.
/// \throws invalid_plan   if there is one beside a number of segments, or a policy
[[nodiscard]] inline std::optional<byte_size> limit_of(CheckpointedSequentialOptions const& options, char const* who) {
  auto const own = options.memory_limit();
  if (own && options.segments() != 0)
    throw invalid_plan{who,
                       "segments and a memory limit are given",
                       {{"segments", options.segments()}, {"limit", own->count()}},
                       "give one of them"};
  if (own && options.policy())
    throw invalid_plan{who,
                       "a policy and a memory limit are given",
                       {{"limit", own->count()}},
                       "give one of them: a limit decides itself what is held"};
  return own || options.segments() != 0 || options.policy() ? own : libtorch::memory_limit();
}
[[nodiscard]] inline at::Tensor run_sequential(torch::nn::SequentialImpl& of, at::Tensor const& x,
                                               CheckpointedSequentialOptions const& options,
                                               recorded_verb const& calls, char const* who) {
  auto const plain = [&] { return of.torch::nn::SequentialImpl::forward(x); };
  if (!at::GradMode::is_enabled() || of.is_empty() || torch::jit::tracer::isTracing()) return plain();
  if (auto const limit = limit_of(options, who)) {
    if (call_record::of_call() != nullptr) return plain();  // a part of another call, which has its own limit
    calls.account->set_limit(byte_budget{*limit}.count());
    calls.account->set_strict(options.strict());
    return calls.call(who, options.verify(), [&](call_record&) { return plain(); });
  }
  std::vector<torch::nn::AnyModule> children{of.begin(), of.end()};
  auto const count = step_index(children.size());
  auto const segments = block_plan::balanced(
      count, options.segments() != 0 ? options.segments() : cairn::detail::ceil_root(count, 2));
  call_record::rules const rules{options.policy() ? &options.policy() : nullptr, nullptr, options.verify()};
  auto y = x;
  for (step_index j = 0; j < segments.size(); ++j) {
    std::optional<region_scope> region;
    if (j + 1 < segments.size()) region.emplace(rules, false, tensor_list{y}, who);
    for (auto k = segments[j].first; k < segments[j].last; ++k) y = children[std::size_t(k)].forward(y);
  }
  return y;
}

}  // namespace detail

/// `seq->forward(x)` under checkpoints. The children run once, with the plain graph; each segment but the last is a
/// region (`checkpoint`), or the call is within a limit (`checkpoint_module`). So gradients have the bits of the plain
/// call, hooks run once, buffers such as running means are updated once, and retain_graph and double backward work.
/// Without grad mode it is the plain call.
/// \param segments  number of segments, which differ by at most one child; 0: by `memory_limit` or about sqrt(n)
/// \param x  the children take a tensor and return one
/// \throws invalid_plan   for more segments than children   \throws infeasible_budget   with `strict`, once a limit is
///   passed; and as `checkpoint`, also in backward
[[nodiscard]] inline at::Tensor checkpoint_sequential(torch::nn::Sequential const& seq, std::int64_t segments,
                                                      at::Tensor const& x, CheckpointedSequentialOptions options = {}) {
  options.segments(segments);
  return detail::run_sequential(*seq.ptr(), x, options, {}, "cairn::libtorch::checkpoint_sequential");
}

/// A Sequential whose `forward` is `checkpoint_sequential`. Parameters have the Sequential's names, so either can load
/// what the other saved. Calls within a limit share it.
class CheckpointedSequentialImpl : public torch::nn::SequentialImpl {
 public:
  /// \param children  modules that take and return one tensor, as in a Sequential
  template <class... Modules>
  explicit CheckpointedSequentialImpl(CheckpointedSequentialOptions const& options, Modules&&... children)
      : torch::nn::SequentialImpl(std::forward<Modules>(children)...), options_{options} {}
  /// Takes the children of a Sequential, and shares them with it.
  explicit CheckpointedSequentialImpl(torch::nn::Sequential const& of,
                                      CheckpointedSequentialOptions const& options = {})
      : options_{options} {
    auto const names = of->named_children();
    std::size_t k = 0;
    for (auto const& child : *of) push_back(names[k++].key(), child);
  }

  /// \throws as `checkpoint_sequential`
  [[nodiscard]] at::Tensor forward(at::Tensor const& x) {
    return detail::run_sequential(*this, x, options_, calls_, "cairn::libtorch::CheckpointedSequential");
  }
  /// A copy with its own parameters, also made when a parent module is cloned; in that case the options are those that
  /// the parent's reset() sets.
  [[nodiscard]] std::shared_ptr<torch::nn::Module> clone(detail::device_choice const& device = {}) const override {
    auto copy = std::make_shared<CheckpointedSequentialImpl>(options_);
    copy->train(is_training());  // before the children are added, because they keep their own modes
    auto const names = named_children();
    std::size_t k = 0;
    for (auto const& child : *this) copy->push_back(names[k++].key(), child.clone(device));
    return copy;
  }
  void pretty_print(std::ostream& stream) const override {
    stream << "cairn::libtorch::CheckpointedSequential";
  }                                                                                        ///< prints its name
  [[nodiscard]] CheckpointedSequentialOptions const& options() const { return options_; }  ///< as given
  /// What calls within a limit did.
  [[nodiscard]] RecordReport report() const { return calls_.report(); }

 private:
  CheckpointedSequentialOptions options_;
  detail::recorded_verb calls_;
};
/// A module holder of `CheckpointedSequentialImpl`.
TORCH_MODULE(CheckpointedSequential);

}  // namespace cairn::libtorch
