// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file debug_hooks.hpp  Inspects the gradients of parameters and the outputs of submodules, by name.
#include <cstddef>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>
#include <torch/nn/module.h>
#include <torch/nn/modules/container/any.h>
#include <torch/nn/modules/container/sequential.h>
#include <cairn/adapt/torch/state/detail/name_matches.hpp>
#include <cairn/core/error.hpp>

namespace cairn::libtorch {

/// Called with a name and a tensor to be inspected.
using tensor_callback = std::function<void(std::string const& name, at::Tensor const& tensor)>;

/// Hooks on the gradients of parameters, removed by the destructor; moved, not copied.
class gradient_hooks {
 public:
  gradient_hooks() = default;
  /// Takes over the hooks.
  gradient_hooks(gradient_hooks&& other) noexcept : hooks_{std::exchange(other.hooks_, {})} {}
  /// Takes over the hooks, and removes its own.
  gradient_hooks& operator=(gradient_hooks other) noexcept {
    std::swap(hooks_, other.hooks_);
    return *this;
  }
  ~gradient_hooks() { remove(); }

  /// Removes the hooks early; a second call does nothing.
  void remove() noexcept {
    for (auto const& [tensor, position] : std::exchange(hooks_, {})) tensor.remove_hook(position);
  }
  [[nodiscard]] std::size_t size() const noexcept { return hooks_.size(); }  ///< number of parameters

 private:
  friend gradient_hooks register_gradient_hooks(torch::nn::Module const&, std::string_view, tensor_callback);
  std::vector<std::pair<at::Tensor, unsigned>> hooks_;
};

/// Calls `callback(name, gradient)` whenever backward or autograd's grad computes a gradient for a parameter. The
/// gradient is what this backward pass adds, not the sum in `.grad()`. An exception of the callback ends the pass.
/// \param pattern  for the parameters' names, "encoder.*" for a submodule, "*.bias"; `*` matches any characters
/// \throws invalid_call  without a callback, and if no parameter that requires a gradient has a matching name
[[nodiscard]] inline gradient_hooks register_gradient_hooks(torch::nn::Module const& module, std::string_view pattern,
                                                            tensor_callback callback) {
  if (!callback)
    throw invalid_call{"cairn::libtorch::register_gradient_hooks",
                       "there is no function to call",
                       {},
                       "give one that takes (name, gradient)"};
  gradient_hooks hooks;
  for (auto const& parameter : module.named_parameters()) {
    if (!parameter.value().requires_grad() || !detail::name_matches(pattern, parameter.key())) continue;
    unsigned const position = parameter.value().register_hook(
        [name = parameter.key(), callback](at::Tensor const& grad) { callback(name, grad); });
    hooks.hooks_.emplace_back(parameter.value(), position);
  }
  if (hooks.size() == 0)
    throw invalid_call{"cairn::libtorch::register_gradient_hooks", "no parameter with a gradient has such a name", {},
                       "named_parameters() lists the names; * stands for any characters"};
  return hooks;
}

namespace detail {

/// A child of a Sequential whose output is inspected. The child remains registered where it is, so that each parameter
/// has one name.
class hooked_child final : public torch::nn::Module {
 public:
  hooked_child(std::string name, torch::nn::AnyModule child, tensor_callback callback)
      : name_{std::move(name)}, child_{std::move(child)}, callback_{std::move(callback)} {}
  at::Tensor forward(at::Tensor x) {
    auto y = child_.forward<at::Tensor>(std::move(x));
    callback_(name_, y);
    return y;
  }

 private:
  std::string name_;
  torch::nn::AnyModule child_;
  tensor_callback callback_;
};

}  // namespace detail

/// A Sequential that runs the children of another and calls `callback(name, output)` after each child with a matching
/// name; LibTorch has no forward hooks in C++. For children that take and return one tensor. Use it in place of the
/// other Sequential, which keeps the parameters, the training mode and the names; children are shared, not copied. If a
/// checkpointed loop runs a child again, the callback is called again.
/// \param pattern  for the children's names: "0", "conv*", "*"
/// \throws invalid_call  without a callback, and if no child has a matching name
[[nodiscard]] inline torch::nn::Sequential with_output_hooks(torch::nn::Sequential const& sequential,
                                                             std::string_view pattern,
                                                             tensor_callback const& callback) {
  if (!callback)
    throw invalid_call{
        "cairn::libtorch::with_output_hooks", "there is no function to call", {}, "give one that takes (name, output)"};
  torch::nn::Sequential hooked;
  bool any = false;
  auto const children = sequential->named_children();
  std::size_t k = 0;
  for (auto const& child : *sequential) {
    auto const& name = children[k++].key();
    if (detail::name_matches(pattern, name))
      hooked->push_back(name, torch::nn::AnyModule(detail::hooked_child(name, child, callback))), any = true;
    else hooked->push_back(name, child);
  }
  if (!any)
    throw invalid_call{"cairn::libtorch::with_output_hooks",
                       "no child has such a name",
                       {},
                       "named_children() lists the names; * stands for any characters"};
  return hooked;
}

}  // namespace cairn::libtorch
