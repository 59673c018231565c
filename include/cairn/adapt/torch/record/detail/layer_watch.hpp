// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file layer_watch.hpp  Outputs of layers, by name: what the last operator makes that reads one of their tensors.
/// Names are compared with patterns.
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>
#include <ATen/core/Tensor.h>
#include <torch/nn/module.h>
#include <cairn/adapt/torch/record/detail/memory_cells.hpp>

namespace cairn::libtorch::detail {

/// Whether a name matches a pattern, in which `*` matches any characters, or none.
[[nodiscard]] inline bool name_matches(std::string_view pattern, std::string_view name) {
  std::size_t p = 0, n = 0, star = std::string_view::npos, resumed = 0;
  while (n < name.size()) {
    if (p < pattern.size() && pattern[p] == '*') star = p++, resumed = n;
    else if (p < pattern.size() && pattern[p] == name[n]) ++p, ++n;
    else if (star != std::string_view::npos) p = star + 1, n = ++resumed;
    else return false;
  }
  while (p < pattern.size() && pattern[p] == '*') ++p;
  return p == pattern.size();
}

/// Names of parts that are held; `*` matches any characters. Without a value all parts are held.
using kept_names = std::optional<std::vector<std::string>>;
[[nodiscard]] inline bool is_among(kept_names const& names, std::string_view name) {
  if (!names) return true;
  for (auto const& pattern : *names)
    if (name_matches(pattern, name)) return true;
  return false;
}

class layer_watch {
 public:
  /// \param is_watched  whether a layer of this name is asked for
  layer_watch(torch::nn::Module const& module, std::function<bool(std::string_view)> const& is_watched) {
    auto const add = [&](std::string const& name, at::Tensor const& t) {
      if (!is_plain_memory(t)) return;
      for (auto dot = name.rfind('.'); dot != name.npos && dot != 0; dot = name.rfind('.', dot - 1))
        if (auto layer = name.substr(0, dot); is_watched(layer))
          readers_[t.storage().unsafeGetStorageImpl()].push_back(std::move(layer));
    };
    for (auto const& one : module.named_parameters()) add(one.key(), one.value());
    for (auto const& one : module.named_buffers()) add(one.key(), one.value());
  }
  /// An operator has read a memory, and made a result.
  void is_read(c10::StorageImpl const* memory, at::Tensor const& result) {
    auto const found = readers_.find(memory);
    if (found == readers_.end()) return;
    ++turn_;
    for (auto const& layer : found->second) last_[layer] = {turn_, result};
  }
  /// A tensor is about to be changed in place: outputs that lie in its memory are kept as they are.
  void is_changed_soon(at::Tensor const& t) {
    for (auto& [layer, one] : last_) {
      auto& output = one.second;
      if (output.storage().unsafeGetStorageImpl() != t.storage().unsafeGetStorageImpl()) continue;
      below_autograd const below;
      output = output.clone();
    }
  }
  /// Calls `show(layer, output)` for each layer, in the order in which they ended.
  void show(std::function<void(std::string const&, at::Tensor const&)> const& show) const {
    std::map<std::uint64_t, std::vector<std::string>> order;
    for (auto const& [layer, one] : last_) order[one.first].push_back(layer);
    for (auto const& [turn, layers] : order)
      for (auto const& layer : layers) show(layer, last_.at(layer).second.detach());
  }

 private:
  std::unordered_map<c10::StorageImpl const*, std::vector<std::string>> readers_;
  std::map<std::string, std::pair<std::uint64_t, at::Tensor>> last_;
  std::uint64_t turn_ = 0;
};

}  // namespace cairn::libtorch::detail
