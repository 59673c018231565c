// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file write_log.hpp  What a computation changes outside itself, so that a second run begins where the first began.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>
#include <ATen/TracerMode.h>
#include <ATen/core/LegacyTypeDispatch.h>
#include <ATen/core/Tensor.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/empty.h>
#include <ATen/record_function.h>
#include <c10/core/DispatchKey.h>
#include <c10/core/StorageImpl.h>
#include <c10/core/TensorImpl.h>
#include <c10/core/impl/LocalDispatchKeySet.h>
#include <cairn/adapt/torch/state/detail/versions.hpp>

namespace cairn::libtorch::detail {

/// How often a tensor and all that share its memory were changed in place; 0 if there is no version counter.
[[nodiscard]] inline std::int64_t version_of(at::Tensor const& t) {
  return t.defined() && !t.is_inference() ? std::int64_t(t._version()) : 0;
}

/// Identifies the memory of a tensor, for as long as it lives.
[[nodiscard]] inline void const* memory_key(at::Tensor const& t) {
  if (t.has_storage()) return t.storage().unsafeGetStorageImpl();
  return t.unsafeGetTensorImpl();
}
/// Whether one of the tensors lies in the memory with this key.
[[nodiscard]] inline bool any_in_memory(at::TensorList tensors, void const* key) {
  return std::any_of(tensors.begin(), tensors.end(),
                     [key](at::Tensor const& t) { return t.defined() && memory_key(t) == key; });
}

/// During its lifetime, operations are seen by nobody: no autograd, no trace, no observer, no policy.
class unseen_operations {
  at::NoGradGuard no_grad_;
  at::AutoDispatchBelowADInplaceOrView below_;
  at::tracer::impl::NoTracerDispatchMode no_trace_;
  at::DisableRecordFunctionGuard no_observer_;
  c10::impl::ExcludeDispatchKeyGuard no_mode_{c10::DispatchKey::Fake};  // see dispatch_mode.hpp
};

/// A piece of memory as it was at some time. It does not keep that memory alive.
class memory_image {
 public:
  /// \pre the tensor has a storage
  explicit memory_image(at::Tensor const& t)
      : storage_{t.storage().getWeakStorageImpl()}, sizes_{t.sizes().vec()}, strides_{t.strides().vec()},
        offset_{t.storage_offset()}, options_{t.options().requires_grad(false)},
        counter_{t.unsafeGetTensorImpl()->version_counter()}, version_{version_of(t)} {
    values_ = memory().clone(at::MemoryFormat::Contiguous);
  }
  [[nodiscard]] void const* key() const noexcept { return storage_._unsafe_get_target(); }
  /// Whether it is of the same elements as the tensor.
  [[nodiscard]] bool is_of(at::Tensor const& t) const {
    return key() == memory_key(t) && offset_ == t.storage_offset() && t.sizes() == sizes_ && t.strides() == strides_;
  }
  /// The same memory as it is now.   \pre it exists
  [[nodiscard]] memory_image now() const {
    auto copy = *this;
    copy.values_ = memory().clone(at::MemoryFormat::Contiguous);
    if (counter_.enabled()) copy.version_ = counter_.current_version();
    return copy;
  }
  /// Writes the values and the version back, if the memory still exists.
  void put_back() const {
    if (!exists()) return;
    memory().copy_(values_);
    set_version(counter_, version_);
  }
  [[nodiscard]] bool exists() const { return !storage_.expired(); }
  /// Whether values or version have changed since.
  [[nodiscard]] bool is_changed() const {
    if (!exists()) return false;
    if (counter_.enabled() && std::int64_t(counter_.current_version()) != version_) return true;
    auto const bytes = [](at::Tensor const& t) { return t.contiguous().reshape({-1}).view(at::kByte); };
    return !bytes(memory()).equal(bytes(values_));
  }
  /// The same without waiting for a device, whose memory counts as changed.
  [[nodiscard]] bool may_be_changed() const { return exists() && (!values_.is_cpu() || is_changed()); }
  [[nodiscard]] at::Tensor const& values() const noexcept { return values_; }
  [[nodiscard]] std::int64_t bytes() const { return std::int64_t(values_.nbytes()); }

 private:
  /// A tensor over the memory with a version counter of its own.
  [[nodiscard]] at::Tensor memory() const {
    return at::empty({0}, options_).set_(c10::Storage{storage_.lock()}, offset_, sizes_, strides_);
  }

  c10::weak_intrusive_ptr<c10::StorageImpl> storage_;
  std::vector<std::int64_t> sizes_, strides_;
  std::int64_t offset_;
  at::TensorOptions options_;
  c10::VariableVersion counter_;
  std::int64_t version_;
  at::Tensor values_;
};

/// What a computation writes to, as it was before.
class write_log {
 public:
  /// To be called before the computation.   \param given  its inputs; what lies in their memory is not noted
  void begin(at::TensorList given) {
    for (auto const& t : given) if (t.defined()) given_.push_back(memory_key(t));
  }
  /// To be called before the tensor is written to. Tensors without a storage are ignored.
  void note(at::Tensor const& t) {
    if (!t.defined() || !t.has_storage() || t.is_meta() || t.is_quantized()) return;
    if (std::find(given_.begin(), given_.end(), memory_key(t)) != given_.end()) return;
    auto const knows = [&](memory_image const& one) { return one.is_of(t); };
    if (std::any_of(all_.begin(), all_.end(), knows)) return;
    unseen_operations const unseen;
    all_.emplace_back(t);
  }
  /// To be called after the computation: drops what has not changed.
  void end() {
    unseen_operations const unseen;
    std::erase_if(all_, [](memory_image const& one) { return !one.may_be_changed(); });
    given_.clear();
  }
  [[nodiscard]] bool holds(void const* memory) const {
    return std::any_of(all_.begin(), all_.end(), [&](memory_image const& one) { return one.key() == memory; });
  }
  [[nodiscard]] std::vector<memory_image> const& images() const noexcept { return all_; }
  [[nodiscard]] std::int64_t bytes() const {
    std::int64_t sum = 0;
    for (auto const& one : all_) sum += one.bytes();
    return sum;
  }

 private:
  std::vector<memory_image> all_;
  std::vector<void const*> given_;
};

/// Some memory as it was at some time.
class memory_images {
 public:
  memory_images() = default;
  /// \param tensors  undefined ones are ignored
  explicit memory_images(at::TensorList tensors) {
    unseen_operations const unseen;
    for (auto const& t : tensors)
      if (t.defined() && t.has_storage() && !t.is_meta()) images_.emplace_back(t);
  }
  /// The same memory as it is now; shares what has not changed.
  [[nodiscard]] memory_images now() const {
    unseen_operations const unseen;
    memory_images all;
    for (auto const& one : images_) all.images_.push_back(one.is_changed() ? one.now() : one);
    return all;
  }
  /// Adds what a computation has changed besides, as it was before it.
  void add(write_log const& log) {
    auto const named = std::ptrdiff_t(images_.size());
    for (auto const& one : log.images()) {
      auto const is = [&](memory_image const& known) { return known.key() == one.key(); };
      if (std::none_of(images_.begin(), images_.begin() + named, is)) images_.push_back(one);
    }
  }
  [[nodiscard]] std::size_t size() const noexcept { return images_.size(); }
  void put_back() const {
    unseen_operations const unseen;
    for (auto one = images_.rbegin(); one != images_.rend(); ++one)
      if (one->is_changed()) one->put_back();  // of two images of the same memory the first wins
  }
  /// Calls `see` with the key of each memory that has changed since, and the bytes of its image.
  template <class See>
  void each_changed(See see) const {
    unseen_operations const unseen;
    for (auto const& one : images_) if (one.is_changed()) see(one.key(), one.bytes());
  }
  void list_tensors(std::vector<at::Tensor>& all) const {
    for (auto const& one : images_) all.push_back(one.values());
  }

 private:
  std::vector<memory_image> images_;
};

/// Undoes at its end what was noted.
class undone_writes {
 public:
  undone_writes() = default;
  undone_writes(undone_writes const&) = delete;
  undone_writes& operator=(undone_writes const&) = delete;
  ~undone_writes() { undo(); }
  void undo() const {
    memory_images before;
    before.add(log);
    before.put_back();
  }
  write_log log;
};

/// During its lifetime, what a computation has changed is as it was before it. Afterwards it is as it is now, with the
/// versions of now: a graph outside may have saved it.
class rewound_memory {
 public:
  /// \param log  of that computation   \param besides  these, too, end as they are now; undefined ones are ignored
  explicit rewound_memory(write_log const& log, at::TensorList besides = {}) {
    unseen_operations const unseen;
    for (auto const& one : log.images()) if (one.exists()) now_.push_back(one.now());
    for (auto const& t : besides)
      if (t.defined() && t.has_storage() && !t.is_meta() && !log.holds(memory_key(t))) now_.emplace_back(t);
    auto const& all = log.images();
    for (auto one = all.rbegin(); one != all.rend(); ++one) one->put_back();  // the first image wins
  }
  rewound_memory(rewound_memory const&) = delete;
  rewound_memory& operator=(rewound_memory const&) = delete;
  ~rewound_memory() {
    unseen_operations const unseen;
    for (auto const& one : now_)
      if (one.may_be_changed()) one.put_back();  // the others are only read: other threads may read them, too
  }

 private:
  std::vector<memory_image> now_;
};

}  // namespace cairn::libtorch::detail
