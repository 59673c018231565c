// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file program_facts.hpp  What a run of a call's operators shows about them: memory, views, what autograd saves,
/// random numbers, changes in place.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>
#include <ATen/core/Tensor.h>
#include <ATen/core/grad_mode.h>
#include <torch/csrc/autograd/function.h>
#include <torch/csrc/autograd/functions/accumulate_grad.h>
#include <torch/csrc/autograd/saved_variable_hooks.h>
#include <torch/csrc/autograd/variable.h>
#include <cairn/adapt/torch/checkpoint/detail/saved_hooks.hpp>
#include <cairn/adapt/torch/graph/detail/call_program.hpp>
#include <cairn/adapt/torch/graph/detail/capture_refused.hpp>
#include <cairn/adapt/torch/state/detail/read_tracker.hpp>
#include <cairn/adapt/torch/state/detail/rng_autocast.hpp>
#include <cairn/adapt/torch/state/detail/tensor_metadata.hpp>
#include <cairn/adapt/torch/state/tensor_state.hpp>

namespace cairn::libtorch::detail {

/// Numbers for pieces of memory. An address is not reused while a weak reference to its storage exists.
class memory_numbers {
 public:
  /// The number of the memory in which a tensor lies; a new number if the memory is new.
  [[nodiscard]] std::int32_t of(at::Tensor const& t) {
    auto const* const key = t.storage().unsafeGetStorageImpl();
    auto const [place, is_new] = known_.try_emplace(key, std::int32_t(known_.size()));
    if (is_new) storages_.push_back(t.storage().getWeakStorageImpl());
    return place->second;
  }
  /// The same, but -1 if the memory is new.
  [[nodiscard]] std::int32_t find(at::Tensor const& t) const {
    if (!t.defined() || !t.has_storage()) return -1;
    auto const found = known_.find(t.storage().unsafeGetStorageImpl());
    return found == known_.end() ? -1 : found->second;
  }
  [[nodiscard]] std::size_t size() const noexcept { return known_.size(); }

 private:
  std::unordered_map<c10::StorageImpl const*, std::int32_t> known_;
  std::vector<c10::weak_intrusive_ptr<c10::StorageImpl>> storages_;
};

/// Facts about one operator.
struct operator_facts {
  std::vector<std::int32_t> makes;   ///< numbers of memory that it makes
  std::vector<std::int32_t> views;   ///< numbers of earlier memory in which a result lies, if it does not write there
  std::vector<std::int32_t> writes;  ///< numbers of memory that it changes in place
  std::vector<std::int32_t> saves;   ///< numbers of memory of values and leaves that autograd saves in it
  bool draws = false;                ///< whether it draws random numbers
  bool gradient = false;             ///< whether a result requires a gradient
};

/// Facts about a call.
struct program_facts {
  std::vector<operator_facts> operators;
  std::vector<std::int32_t> same;    ///< for each value: the first value that is the same tensor
  std::vector<std::int32_t> memory;  ///< for each value: the number of its memory; -1 if it is undefined
  std::vector<std::int64_t> bytes;   ///< for each memory
  std::vector<std::int32_t> maker;   ///< for each memory: the operator that makes it; -1 for memory from outside
  std::vector<char> changes;         ///< for each leaf: whether operators change it in place
  std::vector<char> gradient;        ///< for each value: whether it requires a gradient
  std::vector<char> whole;           ///< for each value: whether it is all of its memory
};

[[nodiscard]] inline bool have_same_bits(at::Tensor const& a, at::Tensor const& b) {
  return a.sizes() == b.sizes() && a.scalar_type() == b.scalar_type() && a.device() == b.device() &&
         hash_of_bits(a) == hash_of_bits(b);
}

/// Runs the operators of a call one after the other, with gradients but without keeping anything for them, and collects
/// facts.
class program_observer {
 public:
  /// \param program  must outlive the observer
  explicit program_observer(call_program const& program) : program_{program} {
    facts_.operators.resize(program.operators.size());
    facts_.same.resize(program.values);
    facts_.memory.assign(program.values, -1);
    facts_.gradient.resize(program.values);
    facts_.whole.resize(program.values);
    facts_.changes.resize(program.leaves.size());
  }

  /// \throws capture_refused   if the call changes in place what the caller owns
  [[nodiscard]] program_facts run() {
    values_.resize(program_.values);
    for (std::size_t k = 0; k < program_.leaves.size(); ++k) note_value(std::int32_t(k), program_.leaves[k], -1);
    for (auto const& t : program_.leaves) if (t.defined()) leaf_of_[memory_.of(t)] = leaf_of_.size();
    auto const last = last_uses(program_.operators, read_outside());
    saved_hooks_scope const hooks{[this] { return std::make_unique<watching_hooks>(*this); }};
    for (now_ = 0; now_ < program_.operators.size(); ++now_) {
      step();
      for (auto const value : last[now_]) values_[std::size_t(value)] = at::Tensor{};
    }
    for (auto const value : program_.results) results_.push_back(values_[std::size_t(value)]);
    return std::move(facts_);
  }
  /// \pre `run` has been called
  [[nodiscard]] tensor_list const& results() const noexcept { return results_; }

 private:
  struct watching_hooks final : torch::autograd::SavedVariableHooks {
    explicit watching_hooks(program_observer& owner) : to{owner} {}
    void call_pack_hook(at::Tensor const& t) override { to.saved_.push_back(to.memory_.find(t)); to.keep_saved(t); }
    at::Tensor call_unpack_hook() override { return {}; }
    program_observer& to;
  };

  void keep_saved(at::Tensor const& t) {
    if (saved_.back() < 0 && t.has_storage()) saved_new_.push_back(t.storage().getWeakStorageImpl());
  }
  /// For each value, whether it is a leaf or a result of the call.
  [[nodiscard]] std::vector<char> read_outside() const {
    std::vector<char> read(program_.values);
    for (std::size_t k = 0; k < program_.leaves.size(); ++k) read[k] = 1;
    for (auto const value : program_.results) read[std::size_t(value)] = 1;
    return read;
  }
  void note_value(std::int32_t value, at::Tensor const& t, std::int32_t by) {
    auto const place = std::size_t(value);
    facts_.same[place] = value;
    values_[place] = t;
    if (!t.defined()) return;
    if (!t.has_storage()) throw capture_refused{"a tensor has no memory of its own, as sparse ones have none"};
    auto const known = memory_.find(t);
    auto const memory = memory_.of(t);
    if (known < 0) {
      facts_.bytes.push_back(std::int64_t(t.storage().nbytes()));
      facts_.maker.push_back(by);
    }
    facts_.memory[place] = memory;
    facts_.gradient[place] = t.requires_grad();
    facts_.whole[place] = std::int64_t(t.nbytes()) == std::int64_t(t.storage().nbytes());
  }
  static void add(std::vector<std::int32_t>& list, std::int32_t one) {
    if (std::find(list.begin(), list.end(), one) == list.end()) list.push_back(one);
  }

  void step() {
    auto const& one = program_.operators[now_];
    auto& facts = facts_.operators[now_];
    std::vector<std::pair<std::size_t, at::Tensor>> buffers;  // leaf, and its contents before
    std::vector<std::pair<std::size_t, std::int64_t>> versions;
    tensor_list read;
    one.visit_reads([&](std::int32_t value) {
      auto const& t = values_[std::size_t(value)];
      if (!t.defined()) return;
      read.push_back(t);
      auto const leaf = leaf_of_.find(memory_.find(t));
      if (leaf == leaf_of_.end()) return;
      auto const& whole = program_.leaves[leaf->second];
      versions.emplace_back(leaf->second, version_of(whole));
      if (program_.is_watched[leaf->second]) {
        at::NoGradGuard const off;
        buffers.emplace_back(leaf->second, whole.detach().clone());
      }
    });
    for (auto const value : one.writes)
      if (auto const memory = facts_.memory[std::size_t(value)]; memory >= 0) add(facts.writes, memory);
    saved_.clear();
    saved_new_.clear();
    cpu_generator_state const generator;
    auto const devices = generator_states::of_devices(read);
    one.run(values_);
    facts.draws = !generator.is_now() || !devices.devices_are_now();
    for (auto const value : one.results) {
      if (value < 0) continue;
      auto const t = values_[std::size_t(value)];
      auto const before = memory_.find(t);
      note_value(value, t, std::int32_t(now_));
      auto const memory = facts_.memory[std::size_t(value)];
      if (memory < 0) continue;
      facts.gradient = facts.gradient || t.requires_grad();
      if (before < 0) add(facts.makes, memory);
      else if (facts_.maker[std::size_t(memory)] != std::int32_t(now_) &&
               std::find(facts.writes.begin(), facts.writes.end(), memory) == facts.writes.end())
        add(facts.views, memory);
      for (std::size_t other = 0; before >= 0 && other < std::size_t(value); ++other)
        if (values_[other].defined() && values_[other].is_same(t)) {
          facts_.same[std::size_t(value)] = facts_.same[other];
          break;
        }
    }
    for (auto const memory : saved_) if (memory >= 0) add(facts.saves, memory);
    for (auto const& storage : saved_new_)
      for (auto const memory : facts.makes)
        if (auto const held = storage.lock(); held && is_of(memory, one, held.get())) add(facts.saves, memory);
    check_changes(facts, buffers, versions);
  }
  [[nodiscard]] bool is_of(std::int32_t memory, program_operator const& one, c10::StorageImpl const* storage) const {
    for (auto const value : one.results) {
      if (value < 0 || facts_.memory[std::size_t(value)] != memory) continue;
      auto const& t = values_[std::size_t(value)];
      if (t.defined() && t.storage().unsafeGetStorageImpl() == storage) return true;
    }
    return false;
  }
  void check_changes(operator_facts& facts, std::vector<std::pair<std::size_t, at::Tensor>> const& buffers,
                     std::vector<std::pair<std::size_t, std::int64_t>> const& versions) {
    auto const name = program_.operators[now_].name;
    auto const changed = [&](std::size_t leaf) {
      if (leaf < program_.inputs) throw capture_refused{name + " changes an input of the call in place"};
      if (!program_.is_watched[leaf]) throw capture_refused{name + " changes a parameter in place"};
      facts_.changes[leaf] = 1;
      add(facts.writes, facts_.memory[leaf]);
    };
    for (auto const& [leaf, version] : versions)
      if (version_of(program_.leaves[leaf]) != version) changed(leaf);
    for (auto const& [leaf, before] : buffers)
      if (!have_same_bits(program_.leaves[leaf].detach(), before)) changed(leaf);
  }

  call_program const& program_;
  program_facts facts_;
  std::vector<at::Tensor> values_;
  memory_numbers memory_;
  std::unordered_map<std::int32_t, std::size_t> leaf_of_;  ///< the first leaf in a memory
  std::vector<std::int32_t> saved_;                        ///< memory that autograd saves in the current operator, or
                                                           ///< -1
  std::vector<c10::weak_intrusive_ptr<c10::StorageImpl>> saved_new_;
  tensor_list results_;
  std::size_t now_ = 0;
};

/// Compares what autograd recorded in two runs.
class recorded_alike {
 public:
  /// How they differ; empty if they do not.
  [[nodiscard]] static std::string difference(tensor_list const& call, tensor_list const& again) {
    recorded_alike one;
    for (std::size_t k = 0; k < call.size(); ++k) {
      if (call[k].requires_grad() != again[k].requires_grad())
        return text_of("a result");
      if (!call[k].grad_fn() && !again[k].grad_fn()) continue;
      one.pair(torch::autograd::impl::gradient_edge(call[k]), torch::autograd::impl::gradient_edge(again[k]));
    }
    while (one.text_.empty() && !one.open_.empty()) {
      auto const [first, second] = one.open_.back();
      one.open_.pop_back();
      one.compare(*first, *second);
    }
    return one.text_;
  }

 private:
  using node = torch::autograd::Node;

  void pair(torch::autograd::Edge const& a, torch::autograd::Edge const& b) {
    if (!text_.empty()) return;
    if (a.is_valid() != b.is_valid()) return differs(a.is_valid() ? *a.function : *b.function);
    if (!a.is_valid()) return;
    if (a.input_nr != b.input_nr) return differs(*a.function);
    auto const [place, is_new] = met_.try_emplace(a.function.get(), b.function.get());
    if (!is_new && place->second != b.function.get()) return differs(*a.function);
    if (is_new) open_.emplace_back(a.function.get(), b.function.get());
  }
  [[nodiscard]] static std::string text_of(std::string const& place) {
    return "autograd records something else where the operators run one by one, at " + place +
           ": a function with an adjoint of its own, or a part that no operator shows";
  }
  void differs(node const& one) { text_ = text_of(one.name()); }
  void compare(node& a, node& b) {
    auto const* const leaf = dynamic_cast<torch::autograd::AccumulateGrad const*>(&a);
    auto const* const other = dynamic_cast<torch::autograd::AccumulateGrad const*>(&b);
    if (leaf != nullptr || other != nullptr) {
      if (leaf == nullptr || other == nullptr || !leaf->variable.is_same(other->variable)) differs(a);
      return;
    }
    if (has_hooks(a)) text_ = "a tensor within the call has a hook, at " + a.name();
    else if (a.name() != b.name() || a.num_outputs() != b.num_outputs()) differs(a);
    for (std::uint32_t k = 0; text_.empty() && k < a.num_outputs(); ++k) pair(a.next_edge(k), b.next_edge(k));
  }
  template <class Node>
  [[nodiscard]] static bool has_hooks(Node& one) {
    if (!one.pre_hooks().empty() || !one.post_hooks().empty()) return true;
    if constexpr (requires { one.tensor_pre_hooks(); })
      return !one.tensor_pre_hooks().empty() || !one.retains_grad_hooks().empty();
    else return false;
  }

  std::unordered_map<node*, node*> met_;
  std::vector<std::pair<node*, node*>> open_;
  std::string text_;
};

}  // namespace cairn::libtorch::detail
