#pragma once
/// \file captured_graph.hpp  A call of a module or a function of tensors as a list of operations that can run one by
/// one.
#include <cstddef>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <memory>
#include <string>
#include <utility>
#include <vector>
#include <ATen/core/Tensor.h>

namespace cairn::libtorch::detail {

/// Where a tensor of a graph comes from.
struct tensor_source {
  std::int32_t operation = -1;  ///< whose value has it; -1: a leaf
  std::int32_t output = 0;      ///< its number among the tensors of that value, or among the leaves
  friend bool operator==(tensor_source const&, tensor_source const&) = default;
};

/// One operator of LibTorch, or a few that stand in a row in the plain call. Its value is the bundle of all tensors
/// that it returns. These may lie in one storage, but never in that of an input.
struct captured_operation {
  std::string name;                   ///< "aten::_convolution", or "aten::batch_norm+relu_" for a group
  std::vector<tensor_source> inputs;  ///< tensors it reads, each once, in the order in which `run` takes them
  std::int32_t results = 1;           ///< tensors its value has
  /// Positions in `inputs` of leaves that this or another operation of the graph changes in place, such as running
  /// means. The first run takes these leaves themselves. Each later one takes a copy of what they were before the
  /// first.
  std::vector<std::int32_t> changing;
  bool draws = false;                 ///< takes random numbers: a later run begins with the generators of the first
  /// Runs it on tensors of which none is changed but the leaves above. Whether autograd records is the caller's grad
  /// mode; automatic casts are operators of the graph and off in here.
  std::function<std::vector<at::Tensor>(std::vector<at::Tensor> const& inputs)> run;
};

/// Tensors that copies share, so that the number of a tensor's owners tells whether somebody else still has it.
class shared_tensors {
 public:
  shared_tensors() = default;
  shared_tensors(std::initializer_list<at::Tensor> all) : shared_tensors{std::vector<at::Tensor>(all)} {}
  explicit shared_tensors(std::vector<at::Tensor> all)
      : all_{std::make_shared<std::vector<at::Tensor>>(std::move(all))} {}
  [[nodiscard]] std::size_t size() const noexcept { return all_->size(); }
  [[nodiscard]] at::Tensor& operator[](std::size_t k) const { return (*all_)[k]; }
  [[nodiscard]] auto begin() const noexcept { return all_->begin(); }
  [[nodiscard]] auto end() const noexcept { return all_->end(); }

 private:
  std::shared_ptr<std::vector<at::Tensor>> all_ = std::make_shared<std::vector<at::Tensor>>();
};

/// A call as operations, each behind those whose values it reads. Their order is that of the plain call, so that
/// adjoints in the opposite order add gradients as the plain call's engine does: where an operation reads a tensor in
/// several places, it adds one place after the other to what later operations have added.
struct captured_graph {
  std::vector<captured_operation> operations;
  shared_tensors leaves;               ///< undefined ones for inputs of a call, then parameters, buffers and others
  std::size_t inputs = 0;              ///< how many leaves are inputs: each call puts its own there
  std::vector<tensor_source> results;  ///< tensors of the result in order; a leaf where the call returns it as it is
};

}  // namespace cairn::libtorch::detail
