// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file memory_cells.hpp  Pieces of memory that a call has used, what they held one after another, and how tensors lie
/// in them.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <utility>
#include <vector>
#include <ATen/core/Tensor.h>
#include <c10/core/Storage.h>
#include <c10/util/SmallVector.h>
#include <c10/util/flat_hash_map.h>
#include <cairn/adapt/torch/state/detail/write_log.hpp>

namespace cairn::libtorch::detail {

/// Whether the tensor is elements in memory of its own or of others. What else there is cannot be recorded.
[[nodiscard]] inline bool is_plain_memory(at::Tensor const& t) {
  return t.defined() && t.layout() == at::kStrided && t.has_storage() && !t.is_quantized() && !t.is_meta() &&
         !t._is_zerotensor() && !t.is_nested();
}
/// The same values and the same version counter, without autograd metadata: what a kernel below autograd returns.
[[nodiscard]] inline at::Tensor bare(at::Tensor const& t) {
  auto* const impl = t.unsafeGetTensorImpl();
  return t.defined() ? at::Tensor{impl->shallow_copy_and_detach(impl->version_counter(), true)} : t;
}
[[nodiscard]] inline bool is_there(c10::Storage const& memory) { return memory.unsafeGetStorageImpl() != nullptr; }

/// The memory as a tensor of bytes.
[[nodiscard]] inline at::Tensor bytes_in(c10::Storage const& memory) {
  auto const key = c10::DispatchKeySet(memory.device().is_cpu() ? c10::DispatchKey::CPU : c10::DispatchKey::CUDA);
  auto t = at::detail::make_tensor<c10::TensorImpl>(c10::Storage{memory}, key, caffe2::TypeMeta::Make<std::uint8_t>());
  t.unsafeGetTensorImpl()->set_sizes_contiguous({std::int64_t(memory.nbytes())});
  return t;
}
[[nodiscard]] inline c10::Storage copy_of(c10::Storage const& memory) {
  below_autograd const below;
  return bytes_in(memory).clone().storage();
}

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
  /// A tensor of this form that has no memory.
  [[nodiscard]] at::Tensor form_of(at::Tensor const& t) {
    return over(of(t, -1), c10::Storage{c10::Storage::use_byte_size_t{}, 0, c10::DataPtr{nullptr, t.device()}});
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

/// What a piece of memory held at some time.
struct memory_content {
  int cell = 0;
  int made_by = -1;        ///< operator; -1 if it is not made again: it is from outside, or pinned
  c10::Storage kept = {};  ///< held for us: the memory itself, or other memory with the same bytes
  std::int64_t bytes = 0;
  bool is_own = false;        ///< `kept` is ours, and nobody writes to it
  bool is_open = false;       ///< it has no values yet
  bool is_unchecked = false;  ///< of a factory: raw pointers may have changed it since
  bool is_read = false;
  bool is_part = false;   ///< of `kept` only what was saved still holds: the rest was overwritten
  bool is_mixed = false;  ///< tensors of several layouts were saved
  bool is_kept = false;   ///< held as it was, also where the program overwrites it
  bool is_packed = false;  ///< from outside, and held there by hooks of the program
  bool is_sampled = false;  ///< some of its values are noted
  int wanted = 0;         ///< saved tensors that may ask for it
  int due = 0;            ///< those for which it is held, and regions that read it and are still to be made again
  int asked_at = 0;       ///< number of operators when the last of them was saved
  int layout = -1;        ///< of the last tensor that showed it
  int saved_layout = -1;  ///< of the tensors that were saved
  int readers = -1;       ///< the last argument that read it, the head of a list
  int holding = -1;       ///< its place in the list of what is held
  int group = -1;         ///< of contents that are made again together
  int next = -1;          ///< what an operator made of it in place

  /// Whether it need not be held.
  [[nodiscard]] bool can_be_made() const noexcept { return made_by >= 0 || is_packed; }
};

/// A piece of memory. Tensors come and go, and are views of one another: what stays is the memory.
struct memory_cell {
  c10::weak_intrusive_ptr<c10::StorageImpl> memory;  ///< its address is not used again while we live
  int current;                                       ///< the content that it holds now
  bool is_stale = false;                             ///< another call has written to it
  bool is_ours = false;                              ///< an operator of the call has made it
  std::vector<int> parts = {};                       ///< earlier contents that hold on in parts
  /// Counters of the tensors that lie in it: `data()` makes further ones.
  c10::SmallVector<std::pair<c10::VariableVersion, std::uint32_t>, 1> versions = {};
};

class memory_cells {
 public:
  [[nodiscard]] memory_content& operator[](int content) { return contents_[std::size_t(content)]; }
  [[nodiscard]] memory_content const& operator[](int content) const { return contents_[std::size_t(content)]; }
  [[nodiscard]] int size() const noexcept { return int(contents_.size()); }
  [[nodiscard]] memory_cell& cell_of(int content) { return cells_[std::size_t((*this)[content].cell)]; }
  [[nodiscard]] memory_cell const& cell_of(int content) const { return cells_[std::size_t((*this)[content].cell)]; }
  [[nodiscard]] memory_cell* find(at::Tensor const& t) {
    auto const place = places_.find(t.storage().unsafeGetStorageImpl());
    return place == places_.end() ? nullptr : &cells_[std::size_t(place->second)];
  }
  /// The content that a tensor shows now. Memory that is new here comes from outside, and is held.
  [[nodiscard]] int shown_by(at::Tensor const& t) {
    auto const& memory = t.storage();
    auto const [place, is_new] = places_.emplace(memory.unsafeGetStorageImpl(), int(cells_.size()));
    if (is_new) cells_.push_back({memory.getWeakStorageImpl(), 0});
    auto& cell = cells_[std::size_t(place->second)];
    if (is_new || std::exchange(cell.is_stale, false)) cell.current = add(place->second, -1, memory.nbytes(), memory);
    note_version(cell, t);
    return cell.current;
  }
  /// What an operator has made in new memory.   \returns -1 if the memory is known: it is a view
  [[nodiscard]] int made_by(int number, at::Tensor const& t) {
    auto const& memory = t.storage();
    auto const [place, is_new] = places_.emplace(memory.unsafeGetStorageImpl(), int(cells_.size()));
    if (!is_new) return -1;
    cells_.push_back({memory.getWeakStorageImpl(), contents(), false, true});
    note_version(cells_.back(), t);
    return add(place->second, number, memory.nbytes());
  }
  /// What an operator has made of a content in place.
  [[nodiscard]] int written_by(int number, int before) {
    auto& cell = cell_of(before);
    auto const memory = cell.memory.lock();
    cell.current = contents();
    return add((*this)[before].cell, number, memory ? memory->nbytes() : std::size_t((*this)[before].bytes));
  }
  /// Whether the program's memory still holds it.
  [[nodiscard]] bool is_unchanged(int content) const {
    return cell_of(content).current == content && has_only_known_writes(content);
  }
  /// Whether nothing has written to its memory that operators of the call have not shown.
  [[nodiscard]] bool has_only_known_writes(int content) const {
    auto const& cell = cell_of(content);
    return !cell.is_stale && std::all_of(cell.versions.begin(), cell.versions.end(),
                                         [](auto const& one) { return one.first.current_version() == one.second; });
  }
  /// Takes all versions as they are: until now operators have shown each change.
  void note_versions() {
    for (auto& cell : cells_)
      if (!cell.memory.expired())
        for (auto& [counter, version] : cell.versions) version = counter.current_version();
  }

 private:
  [[nodiscard]] int contents() const { return int(contents_.size()); }
  [[nodiscard]] int add(int cell, int made_by, std::size_t bytes, c10::Storage kept = {}) {
    contents_.push_back({cell, made_by, std::move(kept), std::int64_t(bytes)});
    return contents() - 1;
  }
  static void note_version(memory_cell& cell, at::Tensor const& t) {
    if (t.is_inference()) return;
    auto const& counter = t.unsafeGetTensorImpl()->version_counter();
    if (!counter.enabled()) return;
    for (auto& [known, version] : cell.versions) {
      version = known.current_version();
      if (std::memcmp(&known, &counter, sizeof known) == 0) return;  // a counter is one pointer, and says no more
    }
    cell.versions.emplace_back(counter, counter.current_version());
  }

  std::vector<memory_content> contents_;
  std::vector<memory_cell> cells_;
  ska::flat_hash_map<void const*, int> places_;
};

}  // namespace cairn::libtorch::detail
