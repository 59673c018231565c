// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file tensor_metadata.hpp  A tensor that is compared later: without its values, or with its version.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <sstream>
#include <string>
#include <utility>
#include <vector>
#include <ATen/core/Tensor.h>
#include <cairn/core/detail/state_hash.hpp>

namespace cairn::libtorch::detail {

/// How often a tensor and all that share its memory were changed in place; 0 if there is no version counter.
[[nodiscard]] inline std::int64_t version_of(at::Tensor const& t) {
  return t.defined() && !t.is_inference() ? std::int64_t(t._version()) : 0;
}

/// A hash of a tensor's values in order.
[[nodiscard]] inline std::uint64_t hash_of_bits(at::Tensor const& t) {
  auto const values = t.detach().to_dense().cpu().contiguous();
  cairn::detail::state_hash hash;
  hash(values.data_ptr(), values.nbytes());
  return hash.value();
}

/// A hash of some elements, evenly spread over a strided tensor in the processor's memory; 0 for other tensors.
[[nodiscard]] inline std::uint64_t hash_of_sample(at::Tensor const& t) {
  constexpr std::int64_t few = 64;
  if (!t.is_cpu() || t.layout() != at::kStrided || !t.has_storage() || t.numel() == 0) return 0;
  auto const* const values = static_cast<std::byte const*>(t.storage().data());
  auto const size = std::int64_t(t.element_size());
  auto const every = (std::max)(std::int64_t{1}, t.numel() / few);
  cairn::detail::state_hash hash;
  for (std::int64_t k = 0; k < t.numel(); k += every) {
    std::int64_t place = t.storage_offset(), rest = k;
    for (auto d = t.dim(); d-- > 0; rest /= t.size(d)) place += rest % t.size(d) * t.stride(d);
    hash(values + place * size, std::size_t(size));
  }
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

/// A tensor, and how often it had been changed in place when it was saved.
struct saved_tensor {
  at::Tensor value;
  std::int64_t version = 0;

  saved_tensor() = default;
  explicit saved_tensor(at::Tensor t) : value{std::move(t)}, version{version_of(value)} {}
  [[nodiscard]] bool unchanged() const { return version_of(value) == version; }
};

}  // namespace cairn::libtorch::detail
