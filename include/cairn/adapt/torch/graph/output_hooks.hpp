// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file output_hooks.hpp  Functions that look at the outputs of layers, by name.
#include <cairn/language.hpp>  // first: an older language gets its message
#include <algorithm>
#include <functional>
#include <list>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>
#include <ATen/core/Tensor.h>
#include <torch/nn/module.h>
#include <cairn/adapt/torch/state/detail/name_matches.hpp>
#include <cairn/core/error.hpp>

namespace cairn::libtorch {

/// Called with the name of a layer and its output, which has no history.
using output_callback = std::function<void(std::string const& layer, at::Tensor const& output)>;

namespace detail {

/// The hooks of one checkpointed module. Threads may share it.
class output_hooks {
 public:
  struct entry {
    std::string pattern;
    output_callback callback;
  };
  using position = std::list<entry>::iterator;

  [[nodiscard]] position add(std::string pattern, output_callback callback) {
    std::lock_guard const lock{access_};
    return all_.insert(all_.end(), {std::move(pattern), std::move(callback)});
  }
  void remove(position at) {
    std::lock_guard const lock{access_};
    all_.erase(at);
  }
  [[nodiscard]] std::vector<entry> all() const {
    std::lock_guard const lock{access_};
    return {all_.begin(), all_.end()};
  }

 private:
  mutable std::mutex access_;
  std::list<entry> all_;
};

/// Whether a part of the module that has parameters or buffers, its own or those of its parts, has a matching name.
[[nodiscard]] inline bool has_layer(torch::nn::Module const& module, std::string_view pattern) {
  auto const matches = [&](std::string_view name) {
    for (auto dot = name.rfind('.'); dot != name.npos; dot = name.rfind('.', dot - 1)) {
      if (name_matches(pattern, name.substr(0, dot))) return true;
      if (dot == 0) break;
    }
    return false;
  };
  for (auto const& one : module.named_parameters()) if (matches(one.key())) return true;
  for (auto const& one : module.named_buffers()) if (matches(one.key())) return true;
  return false;
}

}  // namespace detail

/// A hook that is registered; removed by the destructor. Moved, not copied.
class output_hook_handle {
 public:
  output_hook_handle() = default;
  /// For `CheckpointedModule::register_hook`.
  output_hook_handle(std::shared_ptr<detail::output_hooks> const& of, detail::output_hooks::position at)
      : of_{of}, at_{at} {}
  /// Takes over the hook.
  output_hook_handle(output_hook_handle&& other) noexcept : of_{std::exchange(other.of_, {})}, at_{other.at_} {}
  /// Takes over the hook, and removes its own.
  output_hook_handle& operator=(output_hook_handle other) noexcept {
    std::swap(of_, other.of_);
    std::swap(at_, other.at_);
    return *this;
  }
  ~output_hook_handle() { remove(); }

  /// Removes the hook early; a second call does nothing.
  void remove() noexcept {
    if (auto const of = std::exchange(of_, {}).lock()) of->remove(at_);
  }

 private:
  std::weak_ptr<detail::output_hooks> of_;
  detail::output_hooks::position at_ = {};
};

}  // namespace cairn::libtorch
