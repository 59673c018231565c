// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file settings.hpp  Sets LibTorch's global settings for a scope: types, devices, determinism, automatic casts.
#include <initializer_list>
#include <optional>
#include <ATen/Context.h>
#include <c10/core/DefaultDtype.h>
#include <c10/core/TensorOptions.h>
#include <torch/arg.h>
#include <cairn/adapt/torch/memory/process_memory.hpp>
#include <cairn/adapt/torch/state/rng_states.hpp>
#include <cairn/adapt/torch/state/detail/versions.hpp>
#include <cairn/core/error.hpp>

namespace cairn::libtorch {

/// The options of new tensors, and how LibTorch computes. Unset values are not changed.
/// `auto const settings = TorchSettings().dtype(torch::kBFloat16).deterministic(true); torch::zeros({3, 4},
/// settings.tensor_options());`
struct TorchSettings {
  TORCH_ARG(std::optional<at::ScalarType>, dtype) = std::nullopt;  ///< of new tensors: float, double, half or bfloat16
  TORCH_ARG(c10::Device, device) = c10::Device(c10::kCPU);  ///< of new tensors
  TORCH_ARG(bool, requires_grad) = false;  ///< of new tensors
  /// Use only algorithms that give the same bits each time; operations without one throw.
  TORCH_ARG(std::optional<bool>, deterministic) = std::nullopt;
  /// Whether cuDNN tries its algorithms and takes the fastest.
  TORCH_ARG(std::optional<bool>, benchmark) = std::nullopt;
  /// Type for automatic casts, on the settings' device.
  TORCH_ARG(std::optional<at::ScalarType>, autocast) = std::nullopt;

 public:
  /// For torch::zeros and similar functions.
  [[nodiscard]] at::TensorOptions tensor_options() const {
    return at::TensorOptions()
        .dtype(dtype_.value_or(c10::get_default_dtype_as_scalartype()))
        .device(device_)
        .requires_grad(requires_grad_);
  }
};

/// Applies settings, and restores the previous ones at the end of the scope; guards nest. Automatic casts apply to this
/// thread, and to the backward of what it runs, as LibTorch defines that; the other settings apply to the whole
/// process. The default device and requires_grad are not global settings of LibTorch: use `tensor_options()`.
class settings_guard {
 public:
  /// \throws invalid_call  for a default type other than float, double, half or bfloat16, for an automatic cast to a
  ///   type other than half and bfloat16
  /// \throws device_error  for a device that LibTorch does not see. Nothing has changed then
  explicit settings_guard(TorchSettings const& settings) : settings_{checked(settings)} {
    auto& context = at::globalContext();
    auto to = before_;
    to.type = settings.dtype().value_or(to.type);
    if (auto const only = settings.deterministic()) {
      to.deterministic = *only;
      to.only_warns = false;
      context.setDeterministicCuDNN(*only);
    }
    to.set();
    if (settings.benchmark()) context.setBenchmarkCuDNN(*settings.benchmark());
    if (settings.autocast()) {
      set_autocast(true, *settings.autocast());
      at::autocast::increment_nesting();
    }
  }
  settings_guard(settings_guard const&) = delete;
  settings_guard& operator=(settings_guard const&) = delete;
  ~settings_guard() {  // what the scope has changed besides stays
    auto& context = at::globalContext();
    detail::kernel_settings to;
    if (settings_.dtype()) to.type = before_.type;
    if (settings_.deterministic()) {
      to.deterministic = before_.deterministic;
      to.only_warns = before_.only_warns;
      context.setDeterministicCuDNN(cudnn_);
    }
    to.set();
    if (settings_.benchmark()) context.setBenchmarkCuDNN(benchmark_);
    if (settings_.autocast()) {
      if (at::autocast::decrement_nesting() == 0) at::autocast::clear_cache();  // casts must not outlive the scope
      set_autocast(casts_, cast_type_);
    }
  }

 private:
  [[nodiscard]] static TorchSettings const& checked(TorchSettings const& settings) {
    auto const is_one_of = [](std::optional<at::ScalarType> type, std::initializer_list<at::ScalarType> known) {
      for (auto const one : known) if (!type || *type == one) return true;
      return false;
    };
    if (!is_one_of(settings.dtype(), {at::kFloat, at::kDouble, at::kHalf, at::kBFloat16}))
      throw invalid_call{"cairn::libtorch::settings_guard",
                         "the default type of tensors must be a real floating-point type",
                         {},
                         "take float, double, half or bfloat16"};
    if (!is_one_of(settings.autocast(), {at::kHalf, at::kBFloat16}))
      throw invalid_call{
          "cairn::libtorch::settings_guard", "automatic casts go to a type of 16 bits", {}, "take half or bfloat16"};
    if (!settings.device().is_cpu())
      (void)detail::available_device(settings.device(), "cairn::libtorch::settings_guard");
    return settings;
  }
  void set_autocast(bool on, at::ScalarType type) const {
    detail::switch_autocast(settings_.device().type(), on);
    detail::set_autocast_type(settings_.device().type(), type);
  }

  TorchSettings settings_;
  detail::kernel_settings before_;
  bool cudnn_ = at::globalContext().deterministicCuDNN(), benchmark_ = at::globalContext().benchmarkCuDNN();
  bool casts_ = settings_.autocast() && detail::autocast_is_on(settings_.device().type());
  at::ScalarType cast_type_ = settings_.autocast() ? detail::autocast_type(settings_.device().type()) : at::kFloat;
};

}  // namespace cairn::libtorch
