// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file settings.hpp  Sets LibTorch's global settings for a scope: types, devices, determinism, threads, automatic
/// casts.
#include <initializer_list>
#include <optional>
#include <ATen/Context.h>
#include <ATen/Parallel.h>
#include <c10/core/DefaultDtype.h>
#include <c10/core/TensorOptions.h>
#include <torch/arg.h>
#include <cairn/adapt/torch/memory/detail/available_device.hpp>
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
  TORCH_ARG(std::optional<bool>,
            benchmark) = std::nullopt;                    ///< whether cuDNN tries its algorithms and takes the fastest
  TORCH_ARG(std::optional<int>, threads) = std::nullopt;  ///< threads of one operation on the CPU, >= 1
  TORCH_ARG(std::optional<at::ScalarType>,
            autocast) = std::nullopt;  ///< type for automatic casts, on the settings' device

 public:
  /// For torch::zeros and similar functions.
  [[nodiscard]] at::TensorOptions tensor_options() const {
    return at::TensorOptions()
        .dtype(dtype_.value_or(c10::get_default_dtype_as_scalartype()))
        .device(device_)
        .requires_grad(requires_grad_);
  }
};

namespace detail {

/// Restores a value at the end of a scope.
template <class Value>
class restored {
 public:
  restored(void (*set)(Value), Value before) : set_{set}, before_{before} {}
  restored(restored const&) = delete;
  restored& operator=(restored const&) = delete;
  ~restored() { set_(before_); }

 private:
  void (*set_)(Value);
  Value before_;
};

}  // namespace detail

/// Applies settings, and restores the previous ones at the end of the scope; guards nest. Automatic casts apply to this
/// thread, and to the backward of what it runs, as LibTorch defines that; the other settings apply to the whole
/// process. The default device and requires_grad are not global settings of LibTorch: use `tensor_options()`.
class settings_guard {
 public:
  /// \throws invalid_call  for a default type other than float, double, half or bfloat16, for an automatic cast to a
  ///   type other than half and bfloat16, and for fewer than one thread
  /// \throws device_error  for a device that LibTorch does not see. Nothing has changed then
  explicit settings_guard(TorchSettings const& settings) {
    check(settings);
    auto& context = at::globalContext();
    if (settings.dtype()) {
      dtype_.emplace(&set_dtype, c10::get_default_dtype_as_scalartype());
      set_dtype(*settings.dtype());
    }
    if (settings.deterministic()) {
      deterministic_.emplace(&set_determinism,
                             determinism{context.deterministicAlgorithms(), context.deterministicAlgorithmsWarnOnly(),
                                         context.deterministicCuDNN()});
      set_determinism({*settings.deterministic(), false, *settings.deterministic()});
    }
    if (settings.benchmark()) {
      benchmark_.emplace(&set_benchmark, context.benchmarkCuDNN());
      set_benchmark(*settings.benchmark());
    }
    if (settings.threads()) {
      threads_.emplace(&at::set_num_threads, at::get_num_threads());
      at::set_num_threads(*settings.threads());
    }
    if (settings.autocast()) {
      auto const type = settings.device().type();
      autocast_.emplace(&set_autocast, casts{type, detail::autocast_is_on(type), detail::autocast_type(type)});
      detail::switch_autocast(type, true);
      detail::set_autocast_type(type, *settings.autocast());
      at::autocast::increment_nesting();
    }
  }
  settings_guard(settings_guard const&) = delete;
  settings_guard& operator=(settings_guard const&) = delete;

 private:
  struct determinism {
    bool algorithms, warn_only, cudnn;
  };
  struct casts {
    c10::DeviceType device;
    bool on;
    at::ScalarType type;
  };

  static void check(TorchSettings const& settings) {
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
    if (settings.threads() && *settings.threads() < 1)
      throw invalid_call{"cairn::libtorch::settings_guard",
                         "there must be a thread",
                         {{"threads", *settings.threads()}},
                         "take one or more"};
    if (!settings.device().is_cpu())
      (void)detail::available_device(settings.device(), "cairn::libtorch::settings_guard");
  }
  static void set_dtype(at::ScalarType type) { c10::set_default_dtype(c10::scalarTypeToTypeMeta(type)); }
  static void set_determinism(determinism to) {
    at::globalContext().setDeterministicAlgorithms(to.algorithms, to.warn_only);
    at::globalContext().setDeterministicCuDNN(to.cudnn);
  }
  static void set_benchmark(bool to) { at::globalContext().setBenchmarkCuDNN(to); }
  static void set_autocast(casts to) {
    if (at::autocast::decrement_nesting() == 0)
      at::autocast::clear_cache();  // casts of parameters must not outlive the scope
    detail::switch_autocast(to.device, to.on);
    detail::set_autocast_type(to.device, to.type);
  }

  std::optional<detail::restored<at::ScalarType>> dtype_;
  std::optional<detail::restored<determinism>> deterministic_;
  std::optional<detail::restored<bool>> benchmark_;
  std::optional<detail::restored<int>> threads_;
  std::optional<detail::restored<casts>> autocast_;
};

}  // namespace cairn::libtorch
