// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file program_groups.hpp  Decides which operators of a call run as one operation: views and changes in place with
/// the operator that made their memory, cheap ones with their neighbours.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>
#include <ATen/core/Tensor.h>
#include <c10/core/impl/LocalDispatchKeySet.h>
#include <cairn/adapt/torch/graph/detail/call_program.hpp>
#include <cairn/adapt/torch/graph/detail/capture_refused.hpp>
#include <cairn/adapt/torch/graph/detail/captured_graph.hpp>
#include <cairn/adapt/torch/graph/detail/operation_groups.hpp>
#include <cairn/adapt/torch/graph/detail/operator_order.hpp>
#include <cairn/adapt/torch/graph/detail/program_facts.hpp>
#include <cairn/adapt/torch/graph/detail/program_uses.hpp>
#include <cairn/core/action.hpp>

namespace cairn::libtorch::detail {

/// A few operators that run one after the other, with their own numbers for the values they use.
class operator_run_list {
 public:
  /// \param same  for each value the first one that is the same tensor   \param inputs, results  numbers of values
  operator_run_list(call_program const& program, std::vector<std::int32_t> const& same,
                    std::vector<std::size_t> const& operators, std::vector<std::int32_t> const& inputs,
                    std::vector<std::int32_t> const& results) {
    for (auto const value : inputs) inputs_.push_back(local(value));
    for (std::size_t k = 0; k < program.leaves.size(); ++k)
      if (program.is_constant[k]) constants_.emplace_back(local(std::int32_t(k)), program.leaves[k]);
    for (auto const k : operators) {
      auto one = program.operators[k];
      auto const rename = [&](std::int32_t& value) { if (value >= 0) value = local(same[std::size_t(value)]); };
      for (auto& operand : one.operands) for (auto& value : operand.values) rename(value);
      for (auto& value : one.results) rename(value);
      operators_.push_back(std::move(one));
    }
    for (auto const value : results) results_.push_back(local(value));
    std::vector<char> read(numbers_.size());
    for (auto const value : results_) read[std::size_t(value)] = 1;
    last_ = last_uses(operators_, std::move(read));
  }
  [[nodiscard]] std::vector<at::Tensor> operator()(std::vector<at::Tensor> const& inputs) const {
    c10::impl::ExcludeDispatchKeyGuard const no_casts{c10::autocast_dispatch_keyset};
    std::vector<at::Tensor> values(numbers_.size());
    for (auto const& [value, t] : constants_) values[std::size_t(value)] = t;
    for (std::size_t k = 0; k < inputs_.size(); ++k) values[std::size_t(inputs_[k])] = inputs[k];
    for (std::size_t k = 0; k < operators_.size(); ++k) {
      operators_[k].run(values);
      for (auto const value : last_[k]) values[std::size_t(value)] = at::Tensor{};
    }
    std::vector<at::Tensor> results;
    for (auto const value : results_) results.push_back(values[std::size_t(value)]);
    return results;
  }

 private:
  [[nodiscard]] std::int32_t local(std::int32_t value) {
    return numbers_.try_emplace(value, std::int32_t(numbers_.size())).first->second;
  }

  std::vector<program_operator> operators_;
  std::vector<std::pair<std::int32_t, at::Tensor>> constants_;
  std::vector<std::int32_t> inputs_, results_;
  std::vector<std::vector<std::int32_t>> last_;  ///< for each operator: values that are not needed after it
  std::unordered_map<std::int32_t, std::int32_t> numbers_;
};

/// Divides a call into operations, in the order of the call. Only views may move, and only if no sum of gradients
/// changes its order.
class program_groups {
 public:
  /// \param program, facts  must outlive this object
  program_groups(call_program const& program, program_facts const& facts)
      : program_{program}, facts_{facts}, uses_{program, facts}, groups_{uses_, operator_order{uses_}.groups()} {}
  program_groups(program_groups const&) = delete;  // its parts refer to one another
  program_groups& operator=(program_groups const&) = delete;

  /// \throws capture_refused   if a result lies in the memory of a leaf
  [[nodiscard]] captured_graph graph() const {
    captured_graph made;
    made.leaves = shared_tensors{program_.leaves};
    made.inputs = program_.inputs;
    for (std::size_t k = 0; k < made.inputs; ++k) made.leaves[k] = at::Tensor{};
    auto const readers = groups_.readers();
    std::vector<tensor_source> where(program_.values);  // for each value that passes between operations
    for (std::size_t k = 0; k < program_.leaves.size(); ++k) where[k] = {-1, std::int32_t(k)};
    for (std::size_t g = 0; g < groups().size(); ++g) {
      auto const inputs = groups_.inputs_of(groups()[g]);
      auto const results = groups_.results_of(g, readers);
      captured_operation one;
      std::vector<std::int32_t> ordered;
      for (auto const value : inputs) {
        if (std::size_t(value) < program_.leaves.size() && uses_.changes(value))
          one.changing.push_back(std::int32_t(one.inputs.size()));
        one.inputs.push_back(where[std::size_t(value)]);
        ordered.push_back(value);
      }
      for (std::size_t k = 0; k < results.size(); ++k) {
        check_memory(g, results[k]);
        where[std::size_t(results[k])] = {std::int32_t(g), std::int32_t(k)};
      }
      one.results = std::int32_t(results.size());
      for (auto const k : groups()[g]) one.draws = one.draws || facts_.operators[k].draws;
      add_states(groups()[g], inputs, one);
      one.name = name_of(groups()[g]);
      one.run = operator_run_list{program_, facts_.same, groups()[g], ordered, results};
      made.operations.push_back(std::move(one));
    }
    for (auto const value : program_.results) {
      auto const same = facts_.same[std::size_t(value)];
      if (where[std::size_t(same)].operation < 0 && std::size_t(same) >= program_.leaves.size())
        throw capture_refused{"a result lies in the memory of an input or a parameter"};
      made.results.push_back(where[std::size_t(same)]);
    }
    return made;
  }
  [[nodiscard]] std::vector<std::vector<std::size_t>> const& groups() const noexcept { return groups_.all(); }

 private:
  void add_states(std::vector<std::size_t> const& group, std::vector<std::int32_t> const& inputs,
                  captured_operation& one) const {
    auto const add = [](std::vector<step_index>& list, step_index state) {
      if (std::find(list.begin(), list.end(), state) == list.end()) list.push_back(state);
    };
    if (one.draws) one.states_changed.push_back(0);
    for (auto const k : group)
      for (auto const memory : facts_.operators[k].writes)
        if (facts_.maker[std::size_t(memory)] < 0) add(one.states_changed, memory + 1);
    for (auto const value : inputs) {
      if (!uses_.is_leaf(value) || !uses_.changes(value)) continue;
      step_index const state = facts_.memory[std::size_t(value)] + 1;
      auto const& changed = one.states_changed;
      if (std::find(changed.begin(), changed.end(), state) == changed.end()) add(one.states_read, state);
    }
  }
  void check_memory(std::size_t g, std::int32_t value) const {
    auto const memory = facts_.memory[std::size_t(value)];
    if (memory < 0) return;
    auto const maker = facts_.maker[std::size_t(memory)];
    for (auto const k : groups()[g]) if (std::int32_t(k) == maker) return;
    throw capture_refused{maker < 0 ? "a result lies in the memory of an input or a parameter"
                                    : "a view could not be put with what made its memory"};
  }

  [[nodiscard]] std::string name_of(std::vector<std::size_t> const& group) const {
    std::string text, module;
    for (auto const k : group) {
      if (uses_.is_pure_view(k) && group.size() > 1) continue;
      auto const& one = program_.operators[k];
      auto const short_name = one.name.rfind("aten::", 0) == 0 ? one.name.substr(6) : one.name;
      text += text.empty() ? one.name : "+" + short_name;
      one.visit_reads([&](std::int32_t value) {
        if (!module.empty() || !uses_.is_leaf(value)) return;
        auto const& name = program_.leaf_names[std::size_t(value)];
        module = name.substr(0, (std::min)(name.rfind('.'), name.size()));
      });
    }
    if (text.empty()) text = program_.operators[group.front()].name;
    return module.empty() ? text : text + " of " + module;
  }

  call_program const& program_;
  program_facts const& facts_;
  program_uses uses_;
  operation_groups groups_;
};

}  // namespace cairn::libtorch::detail
