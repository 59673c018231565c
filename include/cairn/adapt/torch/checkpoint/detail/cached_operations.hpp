// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file cached_operations.hpp  The operator results that a region keeps, and the runs that store and use them.
#include <algorithm>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>
#include <ATen/core/List.h>
#include <ATen/core/Tensor.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/core/function_schema.h>
#include <ATen/core/ivalue.h>
#include <ATen/core/stack.h>
#include <c10/core/StorageImpl.h>
#include <c10/core/TensorImpl.h>
#include <cairn/adapt/torch/checkpoint/checkpoint_policy.hpp>
#include <cairn/adapt/torch/checkpoint/detail/active_region.hpp>
#include <cairn/adapt/torch/checkpoint/detail/checkpointed_input.hpp>
#include <cairn/adapt/torch/checkpoint/detail/dispatch_mode.hpp>
#include <cairn/adapt/torch/state/detail/operation_arguments.hpp>
#include <cairn/adapt/torch/state/detail/rng_autocast.hpp>
#include <cairn/core/error.hpp>

namespace cairn::libtorch::detail {

/// The same values and the same version counter, without autograd metadata: what a kernel below autograd returns.
[[nodiscard]] inline at::Tensor bare(at::Tensor const& t) {
  auto* const impl = t.unsafeGetTensorImpl();
  return t.defined() ? at::Tensor{impl->shallow_copy_and_detach(impl->version_counter(), true)} : t;
}

/// The kept results of one call of an operator.
struct cached_operation {
  using weak_storage = c10::weak_intrusive_ptr<c10::StorageImpl>;
  /// One tensor of the results.
  struct part {
    checkpointed_input input;
    weak_storage storage;  ///< memory of its values; held weakly, so that its address is not reused
    bool is_changed = false;  ///< the first run changed the values in place later, and `input` is a copy
  };

  std::size_t call = 0;  ///< index of the call among the calls of this operator
  bool must = false;     ///< it may not run again
  std::vector<c10::IValue> like = {};  ///< the results, with undefined tensors
  std::vector<part> parts = {};
  generator_states generators = {};  ///< states after the call, if it drew random numbers
  bool draws = false;

  [[nodiscard]] bool is_unchanged() const {
    return std::all_of(parts.begin(), parts.end(), [](part const& one) { return one.input.is_unchanged(); });
  }
};

/// The kept results of a region, by operator, in the order of calls.
using cached_operations = std::unordered_map<c10::FunctionSchema const*, std::vector<cached_operation>>;

/// Handles the operators of one run of a region during its lifetime. Without a policy, operators run unchanged.
class operator_run final : public dispatch_mode {
 public:
  /// \param kept  filled by a first run, read by a recomputation   \param region  this run, the innermost one
  operator_run(checkpoint_policy const& policy, cached_operations& kept, active_region const& region, char const* who)
      : policy_{policy}, results_{kept}, region_{region}, who_{who}, casts_are_cached_{autocast_state::now().caches()},
        outer_{std::exchange(of_thread(), policy ? this : nullptr)}, mode_on_{bool(policy)} {}
  operator_run(operator_run const&) = delete;
  operator_run& operator=(operator_run const&) = delete;
  ~operator_run() { of_thread() = outer_; }

  void call(c10::OperatorHandle const& op, c10::DispatchKeySet below, torch::jit::Stack& stack) override {
    auto& calls = calls_[&op.schema()];
    region_.again() ? run_again(op, below, stack, calls++) : run_first(op, below, stack, calls++);
  }

 private:
  using weak_storage = cached_operation::weak_storage;

  [[nodiscard]] static bool writes(c10::Argument const& one) { return use_of(one) == argument_use::write; }
  /// Why the result of an operator cannot be kept, or null.
  [[nodiscard]] char const* obstacle(c10::OperatorHandle const& op) const {
    if (casts_are_cached_ && op.operator_name().name == "aten::_to_copy")
      return "may be in the cache of automatic casts";
    for (auto const& one : op.schema().arguments()) if (writes(one)) return "changes a tensor in place";
    for (auto const& one : op.schema().returns())
      if (one.alias_info() != nullptr) return "gives a view of what it takes";
    return nullptr;
  }
  [[noreturn]] void refuse(c10::OperatorHandle const& op, char const* why) const {
    auto const& name = op.operator_name().name;
    throw invalid_call{who_, ("the policy says MustSave of " + name + ", which " + why).c_str(), {},
                       "say PreferSave, or keep what comes before it or after it"};
  }
  [[nodiscard]] static c10::StorageImpl const* storage_of(at::Tensor const& t) {
    return t.defined() && t.has_storage() ? t.storage().unsafeGetStorageImpl() : nullptr;
  }

  void run_first(c10::OperatorHandle const& op, c10::DispatchKeySet below, torch::jit::Stack& stack, std::size_t call) {
    auto const& schema = op.schema();
    auto const arguments = schema.arguments().size();
    for (std::size_t k = 0; k < arguments; ++k)
      if (writes(schema.arguments()[k]))
        visit_tensors(torch::jit::peek(stack, k, arguments), [&](at::Tensor const& t) { is_changed_soon(t); });
    auto const said = policy_(op.operator_name().name);
    bool const must = said == CheckpointPolicy::MustSave;
    char const* why = obstacle(op);
    if (must && why != nullptr) refuse(op, why);
    if ((!must && said != CheckpointPolicy::PreferSave) || why != nullptr) return op.redispatchBoxed(below, &stack);

    std::unordered_set<c10::StorageImpl const*> given;
    tensor_list tensors;
    for (std::size_t k = 0; k < arguments; ++k)
      visit_tensors(torch::jit::peek(stack, k, arguments), [&](at::Tensor const& t) {
        given.insert(storage_of(t));
        tensors.push_back(t);
      });
    given.erase(nullptr);
    random_mark const before{region_.rng(), tensors};
    op.redispatchBoxed(below, &stack);
    auto const returns = torch::jit::last(stack, schema.returns().size());
    for (auto const& value : returns) {
      bool views = false, is_inference = false;
      bool const is_known = value.isTensor() || value.isTensorList() || value.isNone() || value.isScalar() ||
                            value.isBool() || value.isString();
      visit_tensors(value, [&](at::Tensor const& t) {
        views = views || given.count(storage_of(t)) > 0;
        is_inference = is_inference || t.is_inference();
      });
      if (is_inference) why = "runs in inference mode, where changes in place are not counted";
      else if (views) why = "gives a view of what it takes";
      else if (!is_known) why = "gives something other than tensors, lists of tensors and numbers";
    }
    if (why == nullptr) keep(schema, {call, must}, returns, before.drew(), tensors);
    else if (must) refuse(op, why);
  }
  void keep(c10::FunctionSchema const& schema, cached_operation entry, c10::ArrayRef<c10::IValue> returns, bool draws,
            at::TensorList tensors) {
    above_dispatch_mode const above;
    active_region::outside const outside{region_};
    auto const add = [&](at::Tensor const& t) {
      auto storage = storage_of(t) != nullptr ? t.storage().getWeakStorageImpl()
                                              : weak_storage{c10::intrusive_ptr<c10::StorageImpl>{}};
      entry.parts.push_back({checkpointed_input{bare(t)}, std::move(storage)});
      return at::Tensor{};
    };
    for (auto const& value : returns) {
      if (value.isTensor()) entry.like.emplace_back(add(value.toTensor()));
      else if (value.isTensorList()) {
        c10::List<at::Tensor> list;
        for (at::Tensor const& t : value.toTensorList()) list.push_back(add(t));
        entry.like.emplace_back(std::move(list));
      } else entry.like.push_back(value);
    }
    entry.draws = draws;
    if (draws) entry.generators = generator_states::now(tensors);
    results_[&schema].push_back(std::move(entry));
  }
  /// The tensor is about to be changed in place: its kept value becomes a copy, or, if hooks hold it, its operator runs
  /// again.
  void is_changed_soon(at::Tensor const& t) {
    auto const* const storage = storage_of(t);
    if (storage == nullptr) return;
    auto const lies_there = [&](cached_operation::part const& one) {
      return !one.is_changed && one.storage._unsafe_get_target() == storage;
    };
    for (auto& [schema, entries] : results_)
      std::erase_if(entries, [&](cached_operation& entry) {
        for (auto& one : entry.parts) {
          if (!lies_there(one)) continue;
          if (one.input.is_elsewhere()) return true;
          above_dispatch_mode const above;
          active_region::outside const outside{region_};
          at::NoGradGuard const off;
          one.input = checkpointed_input{one.input.leaf(who_, 0).clone()};
          one.is_changed = true;
        }
        return false;
      });
  }

  void run_again(c10::OperatorHandle const& op, c10::DispatchKeySet below, torch::jit::Stack& stack, std::size_t call) {
    auto const& schema = op.schema();
    auto const found = results_.find(&schema);
    cached_operation const* entry = nullptr;
    if (found != results_.end()) {
      auto& next = next_[&schema];
      while (next < found->second.size() && found->second[next].call < call) ++next;
      if (next < found->second.size() && found->second[next].call == call) entry = &found->second[next];
    }
    if (entry != nullptr && !entry->is_unchanged()) {
      auto const& name = op.operator_name().name;
      if (entry->must)
        throw invalid_call{who_,
                           ("what " + name + " returned was kept, and was changed in place before backward").c_str(),
                           {}, "change a copy of it, or let the policy say PreferSave"};
      entry = nullptr;
    }
    if (entry == nullptr) return op.redispatchBoxed(below, &stack);
    std::vector<c10::IValue> results;
    {
      above_dispatch_mode const above;
      active_region::outside const outside{region_};
      at::NoGradGuard const off;
      std::size_t part = 0;
      auto const take = [&] {
        auto const& one = entry->parts[part++];
        auto const values = one.input.leaf(who_, 0);
        return bare(one.is_changed ? values.clone() : values);
      };
      for (auto const& like : entry->like) {
        if (like.isTensor()) results.emplace_back(take());
        else if (like.isTensorList()) {
          c10::List<at::Tensor> list;
          for (auto k = like.toTensorList().size(); k > 0; --k) list.push_back(take());
          results.emplace_back(std::move(list));
        } else results.push_back(like);
      }
      if (entry->draws) entry->generators.restore();
    }
    torch::jit::drop(stack, schema.arguments().size());
    for (auto& one : results) stack.push_back(std::move(one));
  }

  /// The present position of the random number generators.
  class random_mark {
   public:
    random_mark(Rng rng, at::TensorList tensors) {
      if (rng == Rng::Ignore) return;
      cpu_.emplace();
      bool on_devices = false;
      for (auto const& t : tensors) on_devices = on_devices || !t.device().is_cpu();
      if (on_devices) devices_ = generator_states::now(tensors);
    }
    [[nodiscard]] bool drew() const { return cpu_ && !(cpu_->is_now() && devices_.devices_are_now()); }

   private:
    std::optional<cpu_generator_state> cpu_;
    generator_states devices_;
  };

  checkpoint_policy const& policy_;
  cached_operations& results_;
  active_region const& region_;
  char const* who_;
  bool casts_are_cached_;
  dispatch_mode* outer_;
  dispatch_mode_scope mode_on_;
  std::unordered_map<c10::FunctionSchema const*, std::size_t> calls_, next_;  ///< next_: index of the next kept result
};

}  // namespace cairn::libtorch::detail
