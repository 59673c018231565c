// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file loop_plans.hpp  Keeps what loops within a memory limit have measured, so that steps are not measured in each
/// call.
#include <algorithm>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <list>
#include <memory>
#include <mutex>
#include <optional>
#include <typeinfo>
#include <unordered_map>
#include <utility>
#include <vector>
#include <ATen/core/Tensor.h>
#include <c10/core/StorageImpl.h>
#include <torch/nn/module.h>
#include <torch/nn/pimpl.h>
#include <cairn/core/action.hpp>
#include <cairn/core/error.hpp>
#include <cairn/core/wide.hpp>

namespace cairn::libtorch {

/// Sizes and times of a loop over tensors, measured by `estimate` or known.
struct loop_costs {
  step_index steps = 0;  ///< T, >= 0
  wide state_bytes = 0;  ///< of one state
  wide generator_bytes = 0;  ///< generator states, and buffers that steps change, kept with each state
  wide step_bytes = 0;  ///< the most that a step takes at once in the forward sweep, its result included
  /// The most that differentiating one step takes at once: its tape and its temporary memory.
  wide block_bytes = 0;
  wide pair_bytes = 0;  ///< the same for two steps together
  wide tape_bytes = 0;  ///< added for each further step
  wide third_bytes = 0;     ///< added once for more than two steps: if LibTorch makes a new sum for the gradients of a
                            ///< cast, two of them exist besides their sum
  wide gradient_bytes = 0;  ///< the gradients of captured tensors, which the caller receives
  wide probe_bytes = 0;  ///< the least limit with which these numbers can be measured
  wide other_bytes = 0;  ///< what backward holds in any case: the last state and its adjoint, buffers
  double step_seconds = 1;  ///< a step without a tape, >= 0
  double vjp_seconds = 0;  ///< a step with its tape, and its adjoint, >= 0
  double call_seconds = 0;  ///< what a block takes in addition to its steps, >= 0
};

namespace detail {

/// Numbers, and the modules whose addresses are among them.
class plan_key {
 public:
  /// Whether no other step has this key. Objects with captures, and functions, share the key of their class.
  bool is_known = false;

  /// Whether a module was destroyed, so that its address may belong to another one.
  [[nodiscard]] bool expired() const {
    return std::any_of(modules_.begin(), modules_.end(), [](auto const& one) { return one.expired(); });
  }
  [[nodiscard]] bool operator==(plan_key const& other) const { return numbers_ == other.numbers_; }
  template <class... Values>
  void add(Values const&... values) {
    (numbers_.push_back(std::int64_t(values)), ...);
  }
  template <class Type>
  void add_type() {
    add(reinterpret_cast<std::intptr_t>(&typeid(Type)));
  }
  void add_size() { add(numbers_.size()); }
  /// A module with all its children, modes and parameters.
  void add_whole(torch::nn::Module const& module) {
    auto const add_one = [&](torch::nn::Module const& one, std::weak_ptr<torch::nn::Module> is) {
      add(reinterpret_cast<std::intptr_t>(&one), one.children().size(), one.is_training());
      modules_.push_back(std::move(is));
    };
    add_one(module, std::const_pointer_cast<torch::nn::Module>(module.weak_from_this().lock()));
    for (auto const& one : module.modules(false)) add_one(*one, one);
    for (auto const& one : module.parameters()) {
      add(reinterpret_cast<std::intptr_t>(one.unsafeGetTensorImpl()));
      add_metadata(one);
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
      add(t.layout(), t.key_set().raw_repr());
      if (!t.has_storage()) continue;
      for (auto const stride : t.strides()) add(stride);
      add(t.storage().nbytes(), storages.emplace(t.storage().unsafeGetStorageImpl(), storages.size()).first->second);
    }
  }

 private:
  /// Sizes, type, device, and whether a gradient is required.
  void add_metadata(at::Tensor const& t) {
    add(t.dim(), t.scalar_type(), t.device().type(), t.device().index(), t.requires_grad());
    for (auto const size : t.sizes()) add(size);
  }

  std::vector<std::int64_t> numbers_;
  std::vector<std::weak_ptr<torch::nn::Module>> modules_;
};

/// The key of a step; one of cairn's own makes it itself.
template <class Step>
[[nodiscard]] plan_key identity_of(Step const& step) {
  plan_key found;
  if constexpr (requires { { step.identity() } -> std::convertible_to<plan_key>; }) found = step.identity();
  found.add_type<Step>();
  if constexpr (torch::detail::is_module_holder<Step>::value) {
    if (step.is_empty()) return found;
    found.add_whole(*step);
    found.is_known = true;
  }
  return found;
}

}  // namespace detail

/// What loops with a memory limit have measured of their steps. Each plan is for a number of steps, a limit, options,
/// automatic casts, and tensors (sizes, strides, type, device, shared memory, whether a gradient is required) of the
/// initial state, inputs and named captures; for the class of the step; and, if the step is a module, for that module,
/// its parameters and modes. Objects of one class, such as two `std::function`, count as one step: give each step a
/// `LoopPlans` of its own. Refers to modules weakly; the plan of a destroyed module is dropped. If there are too many
/// plans, the least recently used is dropped. Can be used by several threads.
class LoopPlans {
 public:
  /// \param most  most plans to keep, >= 1   \throws invalid_call   for less
  explicit LoopPlans(std::int64_t most = 16) : most_{most} {
    if (most < 1)
      throw invalid_call{"cairn::libtorch::LoopPlans", "it must be able to keep a plan", {{"most", most}},
                         "give one or more"};
  }
  LoopPlans(LoopPlans const&) = delete;
  LoopPlans& operator=(LoopPlans const&) = delete;

  /// How often steps were measured and a plan was made, including plans that were dropped.
  [[nodiscard]] std::int64_t made() const {
    std::lock_guard const lock{access_};
    return made_;
  }
  /// Number of plans it holds.
  [[nodiscard]] std::int64_t size() const {
    std::lock_guard const lock{access_};
    return std::int64_t(plans_.size());
  }
  /// Drops all plans: the next call measures again.
  void clear() {
    std::lock_guard const lock{access_};
    plans_.clear();
  }
  /// For loops: what was measured, if anything was.
  [[nodiscard]] std::optional<loop_costs> find(detail::plan_key const& key) {
    std::lock_guard const lock{access_};
    plans_.remove_if([](auto const& one) { return one.first.expired(); });
    auto const found = std::find_if(plans_.begin(), plans_.end(), [&](auto const& one) { return one.first == key; });
    if (found == plans_.end()) return {};
    plans_.splice(plans_.begin(), plans_, found);
    return found->second;
  }
  /// For loops: keeps what was measured.
  void keep(detail::plan_key key, loop_costs const& costs) {
    std::lock_guard const lock{access_};
    plans_.remove_if([&](auto const& one) { return one.first == key; });  // made by another thread
    plans_.emplace_front(std::move(key), costs);
    if (plans_.size() > std::size_t(most_)) plans_.pop_back();
    ++made_;
  }

 private:
  std::int64_t most_;
  mutable std::mutex access_;
  std::list<std::pair<detail::plan_key, loop_costs>> plans_;  ///< most recently used first
  std::int64_t made_ = 0;
};

}  // namespace cairn::libtorch
