#pragma once
/// \file tensor_stage.hpp  The stages of a chain of tensors, and the tensors that they start from.
#include <functional>
#include <memory>
#include <utility>
#include <vector>
#include <torch/csrc/autograd/functions/basic_ops.h>
#include <torch/csrc/autograd/variable.h>
#include <torch/nn/modules/container/any.h>
#include <torch/nn/modules/container/sequential.h>

namespace cairn::libtorch::detail {

/// One stage: it makes a tensor of a tensor.
struct tensor_stage {
  std::function<at::Tensor(at::Tensor const&)> run;
  std::vector<at::Tensor> buffers;  ///< that it changes in place, such as running means
};

/// One stage a module; a Sequential is a list of them.
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

/// These values as the result of something: unlike a leaf, it may be changed in place.
/// \param behind  where its gradient goes, if anywhere
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
