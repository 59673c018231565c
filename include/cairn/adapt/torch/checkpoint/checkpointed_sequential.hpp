// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file checkpointed_sequential.hpp  A torch::nn::Sequential under checkpoints, as a module.
#include <cstdint>
#include <memory>
#include <ostream>
#include <utility>
#include <vector>
#include <ATen/core/grad_mode.h>
#include <torch/csrc/jit/frontend/tracer.h>
#include <torch/nn/module.h>
#include <torch/nn/modules/container/sequential.h>
#include <torch/nn/pimpl.h>
#include <cairn/adapt/torch/checkpoint/sequential.hpp>
#include <cairn/adapt/torch/state/detail/device_choice.hpp>

namespace cairn::libtorch {

/// A Sequential whose `forward` is `checkpoint_sequential`. Parameters have the Sequential's names, so either can load
/// what the other saved. A plan is made at the first forward, and when children, parameters, training mode, automatic
/// casts or the input's shape change; recent plans are kept.
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
    bool const is_traced = torch::jit::tracer::isTracing();
    if (!at::GradMode::is_enabled() || is_empty() || is_traced) return torch::nn::SequentialImpl::forward(x);
    detail::need_saved_hooks(who);
    auto const plan = detail::cached_or_new_plan(*this, x, options_, *plans_, who);
    return detail::run_chain(plan, x, {options_.rng(), options_.determinism(), who, {}, options_.policy()});
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
  /// How often children were measured for a plan; 0 if the options name the place where plans are kept.
  [[nodiscard]] std::int64_t plans_made() const { return plans_->made(); }

 private:
  static constexpr char const* who = "cairn::libtorch::CheckpointedSequential";

  CheckpointedSequentialOptions options_;
  std::shared_ptr<SequentialPlans> plans_ = std::make_shared<SequentialPlans>();
};
/// A module holder of `CheckpointedSequentialImpl`.
TORCH_MODULE(CheckpointedSequential);

}  // namespace cairn::libtorch
