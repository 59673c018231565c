// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file tensor_metadata.hpp  A tensor without its values, for comparison with another tensor.
#include <cstdint>
#include <sstream>
#include <string>
#include <vector>
#include <ATen/core/Tensor.h>
#include <cairn/core/detail/state_hash.hpp>

namespace cairn::libtorch::detail {

/// A hash of a tensor's values in order.
[[nodiscard]] inline std::uint64_t hash_of_bits(at::Tensor const& t) {
  auto const values = t.detach().to_dense().cpu().contiguous();
  cairn::detail::state_hash hash;
  hash(values.data_ptr(), values.nbytes());
  return hash.value();
}

/// A tensor without its values; by default an undefined tensor.
struct tensor_metadata {
  std::vector<std::int64_t> sizes;
  at::ScalarType type = at::ScalarType::Undefined;
  at::Device device = at::kCPU;
  std::uint64_t bits = 0;  ///< a hash, if bits are compared

  [[nodiscard]] static tensor_metadata of(at::Tensor const& t, bool with_bits) {
    if (!t.defined()) return {};
    return {t.sizes().vec(), t.scalar_type(), t.device(), with_bits ? hash_of_bits(t) : 0};
  }
  /// Whether everything except the bits is equal.
  [[nodiscard]] bool is_like(tensor_metadata const& other) const {
    return type == other.type && device == other.device && sizes == other.sizes;
  }
  /// The same for a defined tensor.
  [[nodiscard]] bool is_of(at::Tensor const& t) const {
    return t.scalar_type() == type && t.device() == device && t.sizes() == sizes;
  }
  [[nodiscard]] std::string text() const {
    std::ostringstream text;
    text << at::toString(type) << at::IntArrayRef{sizes} << " on " << device;
    return text.str();
  }
};

}  // namespace cairn::libtorch::detail
