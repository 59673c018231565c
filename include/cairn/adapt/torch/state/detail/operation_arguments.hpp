// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file operation_arguments.hpp  How an operation uses each of its arguments, and the tensors among them.
#include <unordered_map>
#include <vector>
#include <ATen/core/Tensor.h>
#include <ATen/core/function_schema.h>
#include <ATen/core/ivalue.h>
#include <ATen/core/operator_name.h>
#include <ATen/record_function.h>

namespace cairn::libtorch::detail {

/// Visits the defined tensors in a value, including those in lists.
template <class Visit>
void visit_tensors(c10::IValue const& value, Visit const& visit) {
  if (value.isTensor()) {
    if (auto const& t = value.toTensor(); t.defined()) visit(t);
  } else if (value.isList()) {
    for (auto const& one : value.toListRef()) visit_tensors(one, visit);
  }
}

enum class argument_use : char { read, view, write };

[[nodiscard]] inline argument_use use_of(c10::Argument const& one) {
  auto const* const alias = one.alias_info();
  if (alias == nullptr) return argument_use::read;
  return alias->isWrite() ? argument_use::write : argument_use::view;
}

/// How an operation uses its arguments, from its schema. LibTorch returns schemas by copy, which takes longer than a
/// small operation, so each thread reads each schema once.
[[nodiscard]] inline std::vector<argument_use> const& arguments_of(at::RecordFunction const& f) {
  static thread_local std::unordered_map<c10::OperatorName, std::vector<argument_use>> known;
  static std::vector<argument_use> const none;
  auto const name = f.operator_name();
  if (!name) return none;
  auto const [place, is_new] = known.try_emplace(*name);
  if (!is_new) return place->second;
  if (auto const schema = f.operator_schema())
    for (auto const& one : schema->arguments()) place->second.push_back(use_of(one));
  return place->second;
}

}  // namespace cairn::libtorch::detail
