// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file hc_model.hpp  A model and the nodes that an `HCModule` divides into blocks.
#include <functional>
#include <memory>
#include <utility>
#include <vector>
#include <ATen/core/Tensor.h>
#include <torch/nn/module.h>
#include <torch/nn/modules/container/any.h>
#include <torch/nn/modules/container/sequential.h>
#include <cairn/adapt/torch/state/detail/device_choice.hpp>
#include <cairn/core/error.hpp>

namespace cairn::libtorch::detail {

/// A Sequential, whose children are the nodes, or any module, whose nodes are listed or unknown.
class hc_model {
 public:
  using list_of_nodes = std::function<std::vector<torch::nn::AnyModule>(torch::nn::AnyModule const& model)>;

  explicit hc_model(torch::nn::Sequential model) : sequential_{std::move(model)} {}
  explicit hc_model(torch::nn::AnyModule model, std::vector<torch::nn::AnyModule> nodes = {})
      : any_{std::move(model)}, nodes_{std::move(nodes)} {}
  hc_model(torch::nn::AnyModule model, list_of_nodes nodes_of)
      : any_{std::move(model)}, nodes_of_{std::move(nodes_of)} {
    nodes_ = nodes_of_(any_);
  }

  [[nodiscard]] std::shared_ptr<torch::nn::Module> ptr() const {
    if (sequential_) return sequential_.ptr();
    return any_.ptr();
  }
  /// Whether it is a Sequential, or its nodes are listed.
  [[nodiscard]] bool has_nodes() const { return sequential_ || !nodes_.empty(); }
  /// Calls the nodes one after the other, and `begin()` before each.   \pre has_nodes()
  template <class Begin>
  [[nodiscard]] at::Tensor by_nodes(at::Tensor x, Begin const& begin) {
    auto nodes = nodes_;
    if (sequential_) nodes.assign(sequential_->begin(), sequential_->end());
    for (auto& one : nodes) {
      begin();
      x = one.forward(x);
    }
    return x;
  }
  template <class Result, class... Inputs>
  [[nodiscard]] Result call(Inputs const&... inputs) {
    if (!sequential_) return any_.forward<Result>(inputs...);
    return sequential_->forward<Result>(inputs...);
  }
  /// A copy with its own parameters.
  /// \throws invalid_call   if the nodes were given as a list
  [[nodiscard]] hc_model clone(device_choice const& device, char const* who) const {
    if (!nodes_.empty() && !nodes_of_)
      throw invalid_call{who,
                         "the nodes of a copied model are not known",
                         {{"nodes", nodes_.size()}},
                         "give a function that lists the nodes of a model, in place of the list"};
    if (sequential_) {
      auto const model = std::dynamic_pointer_cast<torch::nn::SequentialImpl>(sequential_->clone(device));
      return hc_model{torch::nn::Sequential{model}};
    }
    return nodes_of_ ? hc_model{any_.clone(device), nodes_of_} : hc_model{any_.clone(device)};
  }

 private:
  torch::nn::Sequential sequential_{nullptr};
  torch::nn::AnyModule any_;
  std::vector<torch::nn::AnyModule> nodes_;
  list_of_nodes nodes_of_;
};

}  // namespace cairn::libtorch::detail
