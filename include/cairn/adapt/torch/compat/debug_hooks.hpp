#pragma once
/// \file debug_hooks.hpp  Looks at the gradients of parameters and at the outputs of submodules, by name.
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

/// Called with a name and a tensor to look at.
using tensor_callback = std::function<void(std::string const& name, at::Tensor const& tensor)>;

/// Hooks on the gradients of parameters, removed when it ends; moved, not copied.
class gradient_hooks {
 public:
  gradient_hooks() = default;
  /// Takes them over.
  gradient_hooks(gradient_hooks&& other) noexcept : hooks_{std::exchange(other.hooks_, {})} {}
  /// Removes what it had.
  gradient_hooks& operator=(gradient_hooks other) noexcept {
    std::swap(hooks_, other.hooks_);
    return *this;
  }
  ~gradient_hooks() { remove(); }

  /// Removes them before its time; a second call does nothing.
  void remove() noexcept {
    for (auto const& [tensor, position] : std::exchange(hooks_, {})) tensor.remove_hook(position);
  }
  [[nodiscard]] std::size_t size() const noexcept { return hooks_.size(); }  ///< parameters

 private:
  friend gradient_hooks register_gradient_hooks(torch::nn::Module const&, std::string_view, tensor_callback);
  std::vector<std::pair<at::Tensor, unsigned>> hooks_;
};

/// Calls `callback(name, gradient)` whenever a gradient for a parameter comes in, in backward or in autograd's grad. It
/// is what this backward adds, not the
/// sum in `.grad()`. What the callback throws ends the backward.
/// \param pattern  of the parameters' names, "encoder.*" for a submodule, "*.bias"; `*` stands for any characters
/// \throws invalid_call  without a callback, and where no parameter that requires a gradient is called like that
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

/// A child of a Sequential whose output is looked at. The child stays where it is registered, so that parameters have
/// one name.
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

/// A Sequential that runs the children of another and calls `callback(name, output)` after those of a name; LibTorch
/// has no forward hooks in C++. For children that take one tensor and give one. Run it in place of the other, which
/// keeps the parameters, the training mode and the names of both; children are shared, not copied. In a loop with
/// checkpoints a child that is run again is seen again.
/// \param pattern  of the children's names: "0", "conv*", "*"
/// \throws invalid_call  without a callback, and where no child is called like that
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
