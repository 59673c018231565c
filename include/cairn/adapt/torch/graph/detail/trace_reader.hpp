// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file trace_reader.hpp  Reads the operators of a call from the nodes that LibTorch's tracer has listed.
#include <cstddef>
#include <cstdint>
#include <string>
#include <unordered_map>
#include <utility>
#include <ATen/core/List.h>
#include <ATen/core/ivalue.h>
#include <ATen/core/jit_type.h>
#include <torch/csrc/jit/ir/constants.h>
#include <torch/csrc/jit/ir/ir.h>
#include <torch/csrc/jit/runtime/operator.h>
#include <cairn/adapt/torch/graph/detail/call_program.hpp>
#include <cairn/adapt/torch/graph/detail/capture_refused.hpp>
#include <cairn/adapt/torch/state/detail/operation_arguments.hpp>

namespace cairn::libtorch::detail {

/// The operator of that name and overload, as the tracer's nodes call it.
/// \throws capture_refused   if there is none
[[nodiscard]] inline torch::jit::Operation operation_named(char const* name, std::string const& overload) {
  for (auto const& one : torch::jit::getAllOperatorsFor(c10::Symbol::fromQualString(name)))
    if (one->schema().overload_name() == overload) return one->getOperation();
  throw capture_refused{std::string{"LibTorch has no operator "} + name};
}

/// For nodes of a trace: whether autograd was enabled where the operator ran.
using recorded_nodes = std::unordered_map<torch::jit::Node const*, bool>;

/// Reads the graph of a trace into a program: numbers its values, and lists its operators with their arguments and,
/// from their schemas, with what they change in place. Constants and lists of them become arguments.
class trace_reader {
 public:
  /// \param graph  its inputs are the leaves of the program
  /// \param recorded  of the graph's nodes; autograd was enabled at those that it lacks
  /// \param program  has its leaves, and gets the rest; all three must outlive the reader
  trace_reader(torch::jit::Graph& graph, recorded_nodes const& recorded, call_program& program)
      : graph_{graph}, recorded_{recorded}, program_{program} {}

  /// \throws capture_refused   if the graph has a node or an argument that a program cannot have
  void read() {
    auto const leaves = graph_.inputs();
    for (std::size_t k = 0; k < leaves.size(); ++k) numbers_[leaves[k]] = std::int32_t(k);
    program_.values = leaves.size();
    for (auto* const node : graph_.nodes()) {
      auto const kind = node->kind();
      if (kind == torch::jit::prim::Constant) {
        auto const constant = torch::jit::toIValue(node->output());
        if (constant && constant->isTensor() && constant->toTensor().defined())
          throw capture_refused{"it reads a tensor that no operator took before"};
        constants_[node->output()] = constant ? c10::IValue{*constant} : c10::IValue{};
      } else if (kind == torch::jit::prim::ListConstruct) {
        lists_[node->output()] = node;
      } else if (kind == torch::jit::prim::ListUnpack) {
        if (!numbers_.contains(node->outputs().empty() ? nullptr : node->output(0)) && !node->outputs().empty())
          throw capture_refused{"the trace has a list that no operator made"};
      } else if (node->maybeSchema() == nullptr) {
        throw capture_refused{"the trace has " + said(*node) + ", which is not an operator"};
      } else {
        add_operator(*node);
      }
    }
    for (auto* const output : graph_.outputs()) program_.results.push_back(numbers_.at(output));
  }

 private:
  [[nodiscard]] static std::string said(torch::jit::Node const& node) { return node.kind().toQualString(); }
  void add_operator(torch::jit::Node& node) {
    program_operator one;
    one.name = said(node);
    auto const recorded = recorded_.find(&node);
    one.records = recorded == recorded_.end() || recorded->second;
    auto inputs = node.inputs();
    if (one.name == "aten::_convolution") {
      // The call was aten::convolution. The tracer shows only its kernel, which takes four more flags.
      one.name = "aten::convolution";
      inputs = inputs.slice(0, 9);
      one.call = operation_named("aten::convolution", "");
    } else {
      one.overload = node.schema().overload_name();
      one.call = node.getOperation();
    }
    for (auto* const input : inputs) one.operands.push_back(operand(input));
    auto const& arguments = node.schema().arguments();
    for (std::size_t k = 0; k < one.operands.size() && k < arguments.size(); ++k)
      if (use_of(arguments[k]) == argument_use::write)
        for (auto const value : one.operands[k].values) if (value >= 0) one.writes.push_back(value);
    for (auto* const output : node.outputs()) {
      auto const kind = output->type()->kind();
      if (kind == c10::TypeKind::TensorType) one.results.push_back(number(output));
      else if (kind == c10::TypeKind::ListType) add_unpacked(*output, one);
      else if (output->hasUses()) throw capture_refused{one.name + " gives a result that is not a tensor, and is used"};
      else one.results.push_back(-1);
    }
    program_.operators.push_back(std::move(one));
  }
  void add_unpacked(torch::jit::Value& list, program_operator& one) {
    for (auto const& use : list.uses()) {
      if (use.user->kind() != torch::jit::prim::ListUnpack) continue;
      for (auto* const part : use.user->outputs()) one.results.push_back(number(part));
      return;
    }
    throw capture_refused{one.name + " gives a list that is not taken apart"};
  }
  [[nodiscard]] std::int32_t number(torch::jit::Value* value) {
    return numbers_.try_emplace(value, std::int32_t(program_.values++)).first->second;
  }
  [[nodiscard]] program_operand operand(torch::jit::Value* value) const {
    using kind = program_operand::kind;
    if (auto const found = numbers_.find(value); found != numbers_.end()) return {kind::tensor, {}, {found->second}};
    if (auto const found = constants_.find(value); found != constants_.end()) return {kind::constant, found->second};
    auto const found = lists_.find(value);
    if (found == lists_.end()) throw capture_refused{"the trace has a list that no operator made"};
    auto const& list = *found->second;
    auto const element = value->type()->expect<c10::ListType>()->getElementType();
    switch (element->kind()) {
      case c10::TypeKind::TensorType:
      case c10::TypeKind::OptionalType: {
        program_operand all{element->kind() == c10::TypeKind::TensorType ? kind::tensors : kind::optional_tensors};
        for (auto* const part : list.inputs()) {
          auto const known = numbers_.find(part);
          all.values.push_back(known == numbers_.end() ? -1 : known->second);
        }
        return all;
      }
      case c10::TypeKind::IntType: return {kind::constant, list_of<std::int64_t>(list)};
      case c10::TypeKind::BoolType: return {kind::constant, list_of<bool>(list)};
      case c10::TypeKind::FloatType: return {kind::constant, list_of<double>(list)};
      default: throw capture_refused{"an operator takes a list of " + element->str()};
    }
  }
  template <class T>
  [[nodiscard]] c10::IValue list_of(torch::jit::Node const& list) const {
    c10::List<T> all;
    for (auto const* const part : list.inputs()) {
      auto const found = constants_.find(part);
      if (found == constants_.end()) throw capture_refused{"an operator takes a number that is made from a tensor"};
      all.push_back(found->second.to<T>());
    }
    return all;
  }

  torch::jit::Graph& graph_;
  recorded_nodes const& recorded_;
  call_program& program_;
  std::unordered_map<torch::jit::Value const*, std::int32_t> numbers_;  ///< of tensors
  std::unordered_map<torch::jit::Value const*, c10::IValue> constants_;
  std::unordered_map<torch::jit::Value const*, torch::jit::Node const*> lists_;  ///< the nodes that make them
};

}  // namespace cairn::libtorch::detail
