#pragma once
/// \file sequential_seed.hpp  A gradient that nobody holds but the graph that it goes through.
#include <memory>
#include <utility>
#include <ATen/core/Tensor.h>
#include <ATen/ops/empty.h>
#include <torch/csrc/autograd/function.h>
#include <torch/csrc/autograd/variable.h>

namespace cairn::libtorch::detail {

/// Sends a gradient into the graph behind a tensor and lets go of it, as a stage does with an adjoint: it ends when the
/// graph has read it. What is given to LibTorch's own `grad` stands until that returns.
class seed_node final : public torch::autograd::Node {
 public:
  /// A tensor without elements whose gradient sends `seed` along an edge, for one backward pass.
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
