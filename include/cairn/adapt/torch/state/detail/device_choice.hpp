// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file device_choice.hpp  The type of the optional device in a module's clone().
#include <memory>
#include <torch/nn/module.h>

namespace cairn::libtorch::detail {

template <class Clone>
struct device_choice_of;
/// LibTorch 1 and 2 use different optionals.
template <class Choice>
struct device_choice_of<std::shared_ptr<torch::nn::Module> (torch::nn::Module::*)(Choice const&) const> {
  using type = Choice;
};
using device_choice = device_choice_of<decltype(&torch::nn::Module::clone)>::type;

}  // namespace cairn::libtorch::detail
