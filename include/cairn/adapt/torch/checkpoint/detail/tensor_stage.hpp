// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file tensor_stage.hpp  The stages of a chain of tensors, and their input tensors.
#include <functional>
#include <memory>
#include <utility>
#include <vector>
#include <torch/csrc/autograd/functions/basic_ops.h>
#include <torch/csrc/autograd/variable.h>
#include <torch/nn/modules/container/any.h>
#include <torch/nn/modules/container/sequential.h>

namespace cairn::libtorch::detail {

/// One stage: makes a tensor from a tensor.
struct tensor_stage {
  std::function<at::Tensor(at::Tensor const&)> run;
  std::vector<at::Tensor> buffers;  ///< buffers that it changes in place, such as running means
};

/// One stage per module of a Sequential or a similar list.
template <class Modules>
[[nodiscard]] std::vector<tensor_stage> stages_of(Modules const& modules) {
  std::vector<tensor_stage> stages;
  for (auto const& one : modules) {
    torch::nn::AnyModule module{one};
    auto buffers = module.ptr()->buffers();
    stages.push_back({[module](at::Tensor const& x) mutable { return module.forward(x); }, std::move(buffers)});
  }
  return stages;
}

/// A tensor with these values that is the result of an operation: unlike a leaf, it may be changed in place.
/// \param behind  receives its gradient; may be undefined
[[nodiscard]] inline at::Tensor result_tensor(at::Tensor const& values, bool requires_grad,
                                              torch::autograd::Edge behind = {}) {
  auto t = values.detach();
  if (!requires_grad) return t;
  auto const node = std::make_shared<torch::autograd::Identity>();
  node->add_next_edge(std::move(behind));
  torch::autograd::create_gradient_edge(t, node);
  return t;
}

}  // namespace cairn::libtorch::detail
