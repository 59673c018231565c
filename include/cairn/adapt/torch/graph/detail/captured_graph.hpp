// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file captured_graph.hpp  A call from tensors to tensors as a list of operations that can run one by one.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <memory>
#include <string>
#include <utility>
#include <vector>
#include <ATen/core/Tensor.h>
#include <cairn/core/action.hpp>

namespace cairn::libtorch::detail {

/// The place of a tensor in a graph.
struct tensor_source {
  std::int32_t operation = -1;  ///< the operation whose value contains it; -1 for a leaf
  std::int32_t output = 0;      ///< its number among the tensors of that value, or among the leaves
  friend bool operator==(tensor_source const&, tensor_source const&) = default;
};

/// One operator of LibTorch, or several that follow one another in the plain call. Its value is all tensors that it
/// returns. These may share a storage, but never with an input.
struct captured_operation {
  std::string name;                   ///< "aten::_convolution", or "aten::batch_norm+relu_" for a group
  std::vector<tensor_source> inputs;  ///< tensors it reads, each once, in the order of `run`'s argument
  std::int32_t results = 1;           ///< number of tensors of its value
  /// Positions in `inputs` of leaves that this or another operation of the graph changes in place, such as running
  /// means. The first run takes these leaves themselves. Each later run takes copies of their contents before the first
  /// run.
  std::vector<std::int32_t> changing;
  bool draws = false;                 ///< whether it draws random numbers: a later run begins with the generator states
                                      ///< of the first
  /// The generators, which have number 0, and leaves, each piece of memory with its own number: those that it changes,
  /// and those that it reads and others change.
  std::vector<step_index> states_changed, states_read;
  /// Runs it on tensors; it changes none of them except the leaves above. Whether autograd records depends on the
  /// caller's grad mode. Automatic casts are operators of the graph, and are switched off inside.
  std::function<std::vector<at::Tensor>(std::vector<at::Tensor> const& inputs)> run;

  /// Whether input `k` is one of `changing`.
  [[nodiscard]] bool changes(std::size_t k) const {
    return std::find(changing.begin(), changing.end(), std::int32_t(k)) != changing.end();
  }
  /// The first input that is the same tensor as input `k`.
  [[nodiscard]] std::size_t first_reading(std::size_t k) const {
    return std::size_t(std::find(inputs.begin(), inputs.begin() + std::ptrdiff_t(k), inputs[k]) - inputs.begin());
  }
};

/// Tensors that copies of this object share, so the use count of a tensor shows whether it has another owner.
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

/// A call as operations, each after those whose values it reads. The order is that of the plain call, so adjoints in
/// the opposite order add gradients as the plain call's engine does: an operation that reads a tensor in several places
/// adds one place after the other to what later operations have added.
struct captured_graph {
  std::vector<captured_operation> operations;
  shared_tensors leaves;               ///< undefined for inputs of a call, then parameters, buffers and others
  std::size_t inputs = 0;              ///< number of leaves that are inputs: each call puts its own tensors there
  std::vector<tensor_source> results;  ///< tensors of the result in order; a leaf if the call returns it unchanged
};

}  // namespace cairn::libtorch::detail
