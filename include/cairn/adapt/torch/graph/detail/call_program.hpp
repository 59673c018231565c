// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file call_program.hpp  The operators of one call from tensors to tensors, with their constants, in order.
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>
#include <ATen/core/List.h>
#include <ATen/core/Tensor.h>
#include <ATen/core/grad_mode.h>
#include <ATen/core/ivalue.h>
#include <ATen/core/stack.h>

namespace cairn::libtorch::detail {

/// An argument of an operator: a constant, a value, or a list of values.
struct program_operand {
  enum class kind : char { constant, tensor, tensors, optional_tensors };

  kind is = kind::constant;
  c10::IValue constant = {};
  std::vector<std::int32_t> values = {};  ///< by number; -1 for a missing one
};

/// One operator.
struct program_operator {
  std::string name;      ///< "aten::relu_"
  std::string overload;  ///< of its schema, such as "Tensor"
  std::function<void(torch::jit::Stack&)> call;
  std::vector<program_operand> operands;
  std::vector<std::int32_t> results;  ///< values by number, those of lists one by one; -1 for a result that is not a
                                      ///< tensor
  std::vector<std::int32_t> writes;   ///< values that it changes in place, according to its schema
  bool records = true;                ///< whether autograd recorded: it was enabled and not switched off by the call

  /// Runs the operator.   \param values  by number; its results are stored there
  void run(std::vector<at::Tensor>& values) const {
    at::AutoGradMode const mode{records && at::GradMode::is_enabled()};
    torch::jit::Stack stack;
    stack.reserve(operands.size());
    for (auto const& one : operands) stack.push_back(argument(one, values));
    call(stack);
    std::size_t place = 0;
    auto const put = [&](at::Tensor const& t) {
      if (auto const value = results.at(place++); value >= 0) values[std::size_t(value)] = t;
    };
    for (auto const& one : stack) {
      if (one.isTensor()) put(one.toTensor());
      else if (one.isTensorList()) for (at::Tensor const& t : one.toTensorList()) put(t);
      else ++place;
    }
  }
  /// Visits the numbers of the values that the operator reads.
  template <class Visit>
  void visit_reads(Visit const& visit) const {
    for (auto const& one : operands)
      for (auto const value : one.values)
        if (value >= 0) visit(value);
  }

 private:
  [[nodiscard]] static c10::IValue argument(program_operand const& one, std::vector<at::Tensor> const& values) {
    auto const value = [&](std::int32_t number) { return number < 0 ? at::Tensor{} : values[std::size_t(number)]; };
    switch (one.is) {
      case program_operand::kind::tensor: return value(one.values.front());
      case program_operand::kind::tensors: {
        c10::List<at::Tensor> list;
        for (auto const number : one.values) list.push_back(value(number));
        return list;
      }
      case program_operand::kind::optional_tensors: {
        c10::List<c10::optional<at::Tensor>> list;
        for (auto const number : one.values)
          list.push_back(number < 0 ? c10::optional<at::Tensor>{} : c10::optional<at::Tensor>{value(number)});
        return list;
      }
      default: return one.constant;
    }
  }
};

/// For each operator, the values that neither a later one nor the caller reads.   \param read  for each value, whether
/// the caller reads it
[[nodiscard]] inline std::vector<std::vector<std::int32_t>> last_uses(std::vector<program_operator> const& operators,
                                                                      std::vector<char> read) {
  std::vector<std::vector<std::int32_t>> last(operators.size());
  for (std::size_t k = last.size(); k-- > 0;) {
    auto const look = [&](std::int32_t value) {
      if (value >= 0 && !std::exchange(read[std::size_t(value)], char(1))) last[k].push_back(value);
    };
    operators[k].visit_reads(look);
    for (auto const value : operators[k].results) look(value);
  }
  return last;
}

/// The operators of a call. Values 0..leaves-1 are its leaves.
struct call_program {
  std::vector<program_operator> operators;
  std::size_t values = 0;                ///< number of values
  std::vector<at::Tensor> leaves;        ///< inputs of the call, then tensors that it found outside
  std::vector<std::string> leaf_names;   ///< names of parameters and buffers of its module; empty for others
  std::vector<char> is_watched;          ///< for each leaf: whether operators may change it, as they may a buffer
  std::vector<char> is_constant;         ///< for each leaf: whether it is a number that the call itself made
  std::size_t inputs = 0;                ///< number of leaves that are inputs
  std::vector<std::int32_t> results;     ///< tensors of the result in order, as numbers of values
};

}  // namespace cairn::libtorch::detail
