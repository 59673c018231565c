// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file sequential_seed.hpp  A gradient that only the graph holds.
#include <memory>
#include <utility>
#include <ATen/core/Tensor.h>
#include <ATen/ops/empty.h>
#include <torch/csrc/autograd/function.h>
#include <torch/csrc/autograd/variable.h>

namespace cairn::libtorch::detail {

/// Passes a gradient into the graph before a tensor and releases it, as a stage does with an adjoint: the graph frees
/// it after reading. A gradient passed to LibTorch's `grad` would live until `grad` returns.
class seed_node final : public torch::autograd::Node {
 public:
  /// A tensor without elements whose backward sends `seed` along an edge, for one backward pass.
  [[nodiscard]] static at::Tensor root_before(torch::autograd::Edge edge, at::Tensor seed) {
    auto root = at::empty({0}, seed.options());
    std::shared_ptr<seed_node> const node{new seed_node{std::move(seed)}, torch::autograd::deleteNode};
    node->add_next_edge(std::move(edge));
    torch::autograd::create_gradient_edge(root, node);
    return root;
  }

 protected:
  torch::autograd::variable_list apply(torch::autograd::variable_list&&) override { return {std::move(seed_)}; }

 private:
  explicit seed_node(at::Tensor seed) : seed_{std::move(seed)} {}
  at::Tensor seed_;
};

}  // namespace cairn::libtorch::detail
