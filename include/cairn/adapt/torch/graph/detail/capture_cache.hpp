// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file capture_cache.hpp  Keeps captured calls under keys that say when a capture is valid.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <list>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>
#include <ATen/autocast_mode.h>
#include <ATen/core/Tensor.h>
#include <ATen/core/grad_mode.h>
#include <c10/core/DefaultDtype.h>
#include <torch/nn/module.h>
#include <cairn/adapt/torch/graph/detail/call_trace.hpp>
#include <cairn/adapt/torch/graph/detail/capture.hpp>
#include <cairn/adapt/torch/state/detail/plan_key.hpp>
#include <cairn/adapt/torch/state/detail/read_tracker.hpp>
#include <cairn/adapt/torch/state/tensor_state.hpp>

namespace cairn::libtorch::detail {

/// The conditions under which a graph is valid, as numbers to compare.
using capture_key = std::vector<std::int64_t>;

/// Adds the properties of a tensor on which a graph depends; its values are not among them.
inline void add_to_key(plan_key& to, at::Tensor const& t) {
  to.add(t.defined());
  if (!t.defined()) return;
  to.add_metadata(t);
  to.add(t.layout());
  if (t.layout() != at::kStrided) return;
  for (std::int64_t k = 0; k < t.dim(); ++k) to.add(t.size(k) > 1 ? t.stride(k) : 0);
}

/// The key of a call: sizes, strides, type, device and gradient of its inputs, which inputs are the same tensor, and
/// which are parameters or buffers of the module; modules with their modes; parameters and buffers, by identity and
/// with the same properties; automatic casts, grad mode, default type.
/// \param module  may be null
[[nodiscard]] inline capture_key capture_key_of(tensor_list const& inputs, torch::nn::Module const* module) {
  plan_key all;
  all.add(inputs.size());
  for (std::size_t k = 0; k < inputs.size(); ++k) {
    add_to_key(all, inputs[k]);
    all.add(first_place(inputs, k));
  }
  if (module != nullptr) {
    all.add_module(*module);
    for (auto const& one : module->modules(false)) all.add_module(*one);
    auto const add_tensors = [&](tensor_list const& tensors) {
      for (auto const& input : inputs)
        all.add(std::find_if(tensors.begin(), tensors.end(), [&](auto const& one) { return one.is_same(input); }) -
                tensors.begin());
      all.add(tensors.size());
      for (auto const& one : tensors) {
        all.add(reinterpret_cast<std::intptr_t>(one.unsafeGetTensorImpl()));
        add_to_key(all, one);
      }
    };
    add_tensors(module->parameters());
    add_tensors(module->buffers());
  }
  all.add_autocast();
  all.add(at::autocast::is_autocast_cache_enabled());
  all.add(at::GradMode::is_enabled());
  all.add(c10::typeMetaToScalarType(c10::get_default_dtype()));
  return std::move(all.key);
}

/// The most recent captured calls of one module or function. Threads may share a cache: one thread captures at a time.
class capture_cache {
 public:
  /// \param most  most calls kept, >= 1
  explicit capture_cache(std::size_t most = 8) : most_{most} {}

  /// The graph of a call, or why there is none. Captures the call if the cache has none of this kind.
  /// \param module  may be null
  [[nodiscard]] std::shared_ptr<captured_call const> of(tensor_call const& call, tensor_list const& inputs,
                                                        torch::nn::Module const* module) {
    auto key = capture_key_of(inputs, module);
    std::lock_guard const lock{access_};
    for (auto at = all_.begin(); at != all_.end(); ++at) {
      if (at->key != key) continue;
      if (!is_as_before(*at)) {
        all_.erase(at);
        break;
      }
      all_.splice(all_.begin(), all_, at);
      return at->call;
    }
    auto made = std::make_shared<captured_call const>(call_capture::make(call, inputs, module));
    entry fresh{std::move(key), std::move(made), {}, {}};
    ++captures_;
    if (fresh.call->graph != nullptr) {
      auto const& graph = *fresh.call->graph;
      for (std::size_t k = graph.inputs; k < graph.leaves.size(); ++k)
        if (graph.leaves[k].defined() && graph.leaves[k].use_count() > 1) fresh.outside.push_back(k);
      fresh.outside_key = key_of_outside(fresh);
    }
    all_.push_front(std::move(fresh));
    if (all_.size() > most_) all_.pop_back();
    return all_.front().call;
  }
  [[nodiscard]] std::size_t size() const {
    std::lock_guard const lock{access_};
    return all_.size();
  }
  /// How many calls were captured or refused.
  [[nodiscard]] std::uint64_t captures() const {
    std::lock_guard const lock{access_};
    return captures_;
  }

 private:
  struct entry {
    capture_key key;
    std::shared_ptr<captured_call const> call;
    std::vector<std::size_t> outside;  ///< leaves that had an owner besides the graph, too
    capture_key outside_key;
  };

  [[nodiscard]] static capture_key key_of_outside(entry const& one) {
    plan_key all;
    for (auto const k : one.outside) add_to_key(all, one.call->graph->leaves[k]);
    return std::move(all.key);
  }
  /// Whether the tensors that the call read from outside have the same properties as before and still have an owner
  /// besides the graph. A mask that was replaced belongs only to the graph.
  [[nodiscard]] static bool is_as_before(entry const& one) {
    return std::all_of(one.outside.begin(), one.outside.end(),
                       [&](std::size_t k) { return one.call->graph->leaves[k].use_count() > 1; }) &&
           key_of_outside(one) == one.outside_key;
  }

  std::size_t most_;
  mutable std::mutex access_;
  std::list<entry> all_;
  std::uint64_t captures_ = 0;
};

}  // namespace cairn::libtorch::detail
