// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file plan_key.hpp  What a kept plan depends on, as numbers that can be compared.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <unordered_map>
#include <vector>
#include <ATen/autocast_mode.h>
#include <ATen/core/Tensor.h>
#include <c10/core/StorageImpl.h>
#include <torch/nn/module.h>
#include <cairn/adapt/torch/state/detail/rng_autocast.hpp>
#include <cairn/adapt/torch/state/detail/versions.hpp>

namespace cairn::libtorch::detail {

/// Numbers, and the modules whose addresses are among them.
struct plan_key {
  std::vector<std::int64_t> key;
  std::vector<std::weak_ptr<torch::nn::Module>> modules;

  /// Whether a module was destroyed, so that its address may belong to another one.
  [[nodiscard]] bool expired() const {
    return std::any_of(modules.begin(), modules.end(), [](auto const& one) { return one.expired(); });
  }
  template <class Value>
  void add(Value const& value) {
    key.push_back(std::int64_t(value));
  }
  /// Sizes, type, device, and whether a gradient is required.
  void add_metadata(at::Tensor const& t) {
    add(t.dim());
    for (auto const size : t.sizes()) add(size);
    add(t.scalar_type());
    add(t.device().type());
    add(t.device().index());
    add(t.requires_grad());
  }
  /// A module without its children: address, number of children, and mode.
  void add_module(torch::nn::Module const& one) {
    add(reinterpret_cast<std::intptr_t>(&one));
    add(one.children().size());
    add(one.is_training());
  }
  void add_parameters(torch::nn::Module const& of) {
    for (auto const& one : of.parameters()) {
      add(reinterpret_cast<std::intptr_t>(one.unsafeGetTensorImpl()));
      add_metadata(one);
    }
  }
  /// Automatic casts of the calling thread.
  void add_autocast() {
    for (auto const device : {at::kCPU, at::kCUDA}) {
      add(autocast_is_on(device));
      add(autocast_type(device));
    }
  }
  /// Tensors with their layouts in memory, and which of them share memory.
  void add_tensors(at::TensorList tensors) {
    std::unordered_map<void const*, std::size_t> storages;
    add(tensors.size());
    for (auto const& t : tensors) {
      add(t.defined());
      if (!t.defined()) continue;
      add_metadata(t);
      add(t.layout());
      add(t.key_set().raw_repr());
      if (!t.has_storage()) continue;
      for (auto const stride : t.strides()) add(stride);
      add(t.storage().nbytes());
      add(storages.emplace(t.storage().unsafeGetStorageImpl(), storages.size()).first->second);
    }
  }
};

}  // namespace cairn::libtorch::detail
