// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file layout_list.hpp  How tensors lie in their memory, each layout of a call once.
#include <ATen/core/Tensor.h>
#include <algorithm>
#include <c10/core/Storage.h>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace cairn::libtorch::detail {

/// Layouts by number. A tensor is a memory and a layout: views need no operator to be made again.
class layout_list {
 public:
  /// \param like  a layout that the tensor probably has, or -1
  [[nodiscard]] int of(at::Tensor const& t, int like) {
    auto const* const impl = t.unsafeGetTensorImpl();
    auto const sizes = t.sizes(), strides = t.strides();
    if (like >= 0) {
      auto const& known = all_[std::size_t(like)];
      auto const* const dims = dims_.data() + known.dims_at;
      if (known.dims == sizes.size() && known.offset == t.storage_offset() && known.type == t.dtype() &&
          known.keys == t.key_set() && known.is_wrapped_number == impl->is_wrapped_number() &&
          std::equal(sizes.begin(), sizes.end(), dims) && std::equal(strides.begin(), strides.end(), dims + known.dims))
        return like;
    }
    all_.push_back({dims_.size(), sizes.size(), t.storage_offset(), t.dtype(), t.key_set(), impl->is_wrapped_number()});
    dims_.insert(dims_.end(), sizes.begin(), sizes.end());
    dims_.insert(dims_.end(), strides.begin(), strides.end());
    return int(all_.size()) - 1;
  }
  /// A tensor of this layout in a memory, without history.
  [[nodiscard]] at::Tensor over(int number, c10::Storage memory) const {
    auto const& one = all_[std::size_t(number)];
    auto t = at::detail::make_tensor<c10::TensorImpl>(std::move(memory), one.keys, one.type);
    auto* const impl = t.unsafeGetTensorImpl();
    auto const* const dims = dims_.data() + one.dims_at;
    impl->set_sizes_and_strides({dims, one.dims}, {dims + one.dims, one.dims});
    impl->set_storage_offset(one.offset);
    if (one.is_wrapped_number) impl->set_wrapped_number(true);  // it decides the types of results
    return t;
  }
  /// Whether its elements are numbers that can have a derivative.
  [[nodiscard]] bool is_differentiable(int number) const {
    auto const type = c10::typeMetaToScalarType(all_[std::size_t(number)].type);
    return c10::isFloatingType(type) || c10::isComplexType(type);
  }
  /// Whether two tensors in one memory may share an element. Slices of rows or of columns are told apart.
  [[nodiscard]] bool may_overlap(int a, int b) const {
    auto const one = window_of(a), other = window_of(b);
    if (one.begin + one.hull <= other.begin || other.begin + other.hull <= one.begin) return false;
    if (one.stride != other.stride || one.stride <= 0) return true;
    auto const x = one.begin % one.stride, y = other.begin % one.stride;
    return x + one.row > one.stride || y + other.row > one.stride || (x < y + other.row && y < x + one.row);
  }

 private:
  /// The bytes of a tensor: rows of equal length at equal distances.
  struct window {
    std::int64_t begin, hull, row, stride;
  };
  [[nodiscard]] window window_of(int number) const {
    auto const& one = all_[std::size_t(number)];
    auto const size = std::int64_t(one.type.itemsize());
    std::int64_t hull = 1, most = 0, steps = 0;
    for (std::size_t k = 0; k < one.dims; ++k) {
      auto const length = dims_[one.dims_at + k], stride = dims_[one.dims_at + one.dims + k];
      if (length == 0) return {one.offset * size, 0, 0, 0};
      hull += (length - 1) * stride;
      if (length > 1 && stride > most) most = stride, steps = length - 1;
    }
    return {one.offset * size, hull * size, (hull - steps * most) * size, most * size};
  }
  struct layout {
    std::size_t dims_at, dims;
    std::int64_t offset;
    caffe2::TypeMeta type;
    c10::DispatchKeySet keys;  ///< they say whether it is conjugate or negative, too
    bool is_wrapped_number;
  };
  std::vector<layout> all_;
  std::vector<std::int64_t> dims_;  ///< sizes, then strides
};

}  // namespace cairn::libtorch::detail
