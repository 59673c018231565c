// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file operation_arguments.hpp  How an operation uses each of its arguments, and the tensors among them.
#include <algorithm>
#include <array>
#include <cstddef>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>
#include <ATen/core/Tensor.h>
#include <ATen/core/function_schema.h>
#include <ATen/core/ivalue.h>
#include <ATen/core/operator_name.h>
#include <ATen/record_function.h>

namespace cairn::libtorch::detail {

/// Visits the tensors in a value, including those in lists and undefined ones.
template <class Visit>
void each_tensor(c10::IValue const& value, Visit const& visit) {
  if (value.isTensor()) visit(value.toTensor());
  else if (value.isList())
    for (auto const& one : value.toListRef()) each_tensor(one, visit);
}
/// Visits those that are defined.
template <class Visit>
void visit_tensors(c10::IValue const& value, Visit const& visit) {
  each_tensor(value, [&](at::Tensor const& t) {
    if (t.defined()) visit(t);
  });
}

/// `overwrite`: what it held before is not read. `update`: what it held before, such as a running mean, is not read for
/// the results, and schemas do not say that it is written.
enum class argument_use : char { read, view, write, overwrite, update };

[[nodiscard]] inline bool writes(argument_use use) noexcept { return use > argument_use::view; }
[[nodiscard]] inline argument_use use_of(c10::Argument const& one) {
  auto const* const alias = one.alias_info();
  if (alias == nullptr) return argument_use::read;
  if (!alias->isWrite()) return argument_use::view;
  return one.kwarg_only() ? argument_use::overwrite : argument_use::write;  // `out`
}

/// How an operation uses its arguments.
struct operation_arguments {
  static constexpr std::size_t always = std::size_t(-1);

  std::vector<argument_use> uses;
  /// The argument that says whether updates happen, or `always`.
  std::size_t mode = always;

  [[nodiscard]] argument_use of(std::size_t k, c10::ArrayRef<c10::IValue const> given) const {
    if (k >= uses.size()) return argument_use::read;
    bool const is_off = mode < given.size() && given[mode].isBool() && !given[mode].toBool();
    return uses[k] == argument_use::update && is_off ? argument_use::read : uses[k];
  }
};

/// Batch norms write to their running means, and RReLU to its noise, as said nowhere but in their names.
[[nodiscard]] inline operation_arguments arguments_of(c10::FunctionSchema const& schema) {
  operation_arguments found;
  bool makes_noise = false;
  bool const is_adjoint = schema.name().find("backward") != std::string::npos;
  for (auto const& one : schema.arguments()) {
    auto const& name = one.name();
    bool const updates = !is_adjoint && (name == "running_mean" || name == "running_var" || name == "noise");
    if (name == "training" || name == "use_input_stats") found.mode = found.uses.size();
    if (name == "noise") makes_noise = true;  // in evaluation mode it stays uninitialised
    found.uses.push_back(updates ? argument_use::update : use_of(one));
  }
  if (makes_noise) found.mode = operation_arguments::always;
  constexpr std::array<std::string_view, 9> whole{"aten::copy_",   "aten::fill_",        "aten::zero_",
                                                  "aten::normal_", "aten::bernoulli_",   "aten::uniform_",
                                                  "aten::random_", "aten::exponential_", "aten::log_normal_"};
  if (std::find(whole.begin(), whole.end(), schema.name()) != whole.end())
    found.uses.front() = argument_use::overwrite;
  return found;
}

/// The same of a running operation. LibTorch returns schemas by copy, which takes longer than a
/// small operation, so each thread reads each schema once.
[[nodiscard]] inline operation_arguments const& arguments_of(at::RecordFunction const& f) {
  static thread_local std::unordered_map<c10::OperatorName, operation_arguments> known;
  static operation_arguments const none;
  auto const name = f.operator_name();
  if (!name) return none;
  auto const [place, is_new] = known.try_emplace(*name);
  if (!is_new) return place->second;
  if (auto const schema = f.operator_schema()) place->second = arguments_of(*schema);
  return place->second;
}

}  // namespace cairn::libtorch::detail
