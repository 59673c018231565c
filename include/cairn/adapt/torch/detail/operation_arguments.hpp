#pragma once
/// \file operation_arguments.hpp  What an operation does with each of its arguments.
#include <unordered_map>
#include <vector>
#include <ATen/core/function_schema.h>
#include <ATen/core/operator_name.h>
#include <ATen/record_function.h>

namespace cairn::detail {

enum class argument_use : char { read, view, write };

/// By the schema of the operation. LibTorch hands out copies of schemas, which take longer than a small operation, so
/// each thread looks at each of them once.
[[nodiscard]] inline std::vector<argument_use> const& arguments_of(at::RecordFunction const& f) {
  static thread_local std::unordered_map<c10::OperatorName, std::vector<argument_use>> known;
  static std::vector<argument_use> const none;
  auto const name = f.operator_name();
  if (!name) return none;
  auto const [place, is_new] = known.try_emplace(*name);
  if (!is_new) return place->second;
  if (auto const schema = f.operator_schema())
    for (auto const& one : schema->arguments()) {
      auto const* const alias = one.alias_info();
      auto const seen = alias != nullptr && alias->isWrite() ? argument_use::write : argument_use::view;
      auto const use = alias == nullptr ? argument_use::read : seen;
      place->second.push_back(use);
    }
  return place->second;
}

}  // namespace cairn::detail
