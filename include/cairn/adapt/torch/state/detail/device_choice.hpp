#pragma once
/// \file device_choice.hpp  The device that a module is cloned to, as LibTorch spells it.
#include <memory>
#include <torch/nn/module.h>

namespace cairn::libtorch::detail {

template <class Clone>
struct device_choice_of;
/// LibTorch 1 and 2 differ in their optional.
template <class Choice>
struct device_choice_of<std::shared_ptr<torch::nn::Module> (torch::nn::Module::*)(Choice const&) const> {
  using type = Choice;
};
using device_choice = device_choice_of<decltype(&torch::nn::Module::clone)>::type;

}  // namespace cairn::libtorch::detail
