// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file checkpointed_sequential.hpp  A torch::nn::Sequential under checkpoints, as a module.
#include <cairn/language.hpp>  // first: an older language gets its message
#include <cstdint>
#include <memory>
#include <ostream>
#include <utility>
#include <vector>
#include <ATen/core/Tensor.h>
#include <torch/nn/module.h>
#include <torch/nn/modules/container/sequential.h>
#include <torch/nn/pimpl.h>
#include <cairn/adapt/torch/record/sequential.hpp>
#include <cairn/adapt/torch/record/detail/recorded_verb.hpp>
#include <cairn/adapt/torch/record/record_report.hpp>
#include <cairn/adapt/torch/state/detail/device_choice.hpp>

namespace cairn::libtorch {

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
