// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file captured_arguments.hpp  The arguments of a call that is captured.
#include <any>
#include <bit>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <string>
#include <tuple>
#include <type_traits>
#include <vector>
#include <c10/core/Device.h>
#include <c10/core/Scalar.h>
#include <cairn/adapt/torch/checkpoint/detail/region_call.hpp>
#include <cairn/adapt/torch/state/tensor_state.hpp>

namespace cairn::libtorch::detail {

/// Appends a constant argument as numbers.
template <class T>
void append_key(T const& x, std::vector<std::int64_t>& key) {
  auto const add = [&](auto const& value) { key.push_back(std::int64_t(value)); };
  if constexpr (std::same_as<T, double> || std::same_as<T, float>) add(std::bit_cast<std::int64_t>(double(x)));
  else if constexpr (std::is_arithmetic_v<T> || std::is_enum_v<T>) add(x);
  else if constexpr (std::same_as<T, at::Scalar>) {
    add(x.type());
    if (x.isComplex()) add(0);
    else x.isFloatingPoint() ? append_key(x.toDouble(), key) : append_key(x.toLong(), key);
  } else if constexpr (std::same_as<T, at::Device>) {
    add(x.type());
    add(x.index());
  } else if constexpr (std::same_as<T, std::string>) {
    add(x.size());
    for (char const c : x) add(c);
  } else if constexpr (optional_value<T>) {
    add(x.has_value());
    if (x) append_key(*x, key);
  }
}

/// The arguments of a call, its tensors in one list, and what the call returns.
template <class... Inputs>
struct captured_arguments {
  std::tuple<Inputs...> given;
  tensor_list tensors;
  std::vector<std::int64_t> constants;  ///< arguments that are not tensors, and numbers of tensors of the others
  std::any like;                        ///< what the call returns, with undefined tensors

  explicit captured_arguments(Inputs const&... inputs) : given{inputs...} {
    auto const note = [&]<class T>(T const& one) {
      auto const before = tensors.size();
      append_argument(one, tensors);
      if constexpr (tensor_state<T>) constants.push_back(std::int64_t(tensors.size() - before));
      else append_key(one, constants);
    };
    (note(inputs), ...);
  }
  /// Calls `f` with other tensors in place of those of the arguments. Returns the tensors of its result.
  template <class Fn>
  [[nodiscard]] tensor_list call(Fn const& f, tensor_list const& leaves) {
    auto const made = std::apply(f, read_arguments(given, leaves));
    auto parts = tensors_of(made);
    tensor_list const empty(parts.size());
    tensor_reader from{empty};
    like = read_tensors(made, from);
    return parts;
  }
};

}  // namespace cairn::libtorch::detail
