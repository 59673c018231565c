// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file write_log.hpp  What a computation changes outside itself, so that a second run begins where the first began.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>
#include <ATen/TracerMode.h>
#include <ATen/core/Generator.h>
#include <ATen/core/Tensor.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/empty.h>
#include <ATen/record_function.h>
#include <c10/core/DispatchKey.h>
#include <c10/core/StorageImpl.h>
#include <c10/core/TensorImpl.h>
#include <c10/core/impl/LocalDispatchKeySet.h>
#include <cairn/adapt/torch/state/rng_states.hpp>
#include <cairn/adapt/torch/state/detail/tensor_metadata.hpp>
#include <cairn/adapt/torch/state/detail/versions.hpp>

namespace cairn::libtorch::detail {

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

/// A dispatch key below autograd for which LibTorch has neither kernels nor tensors. In a thread that includes it, each
/// operator reaches the kernel of `dispatch_mode` first.
inline constexpr auto dispatch_mode_key = c10::DispatchKey::Fake;

/// During its lifetime operators run below autograd, and nobody sees them: no trace, no observer, no policy.
class below_autograd {
 public:
  explicit below_autograd(c10::impl::LocalDispatchKeySet keys = c10::impl::tls_local_dispatch_key_set())
      : forced_{below(keys)} {}
  below_autograd(below_autograd const&) = delete;
  below_autograd& operator=(below_autograd const&) = delete;

 private:
  [[nodiscard]] static c10::impl::LocalDispatchKeySet below(c10::impl::LocalDispatchKeySet keys) {
    keys.included_ = keys.included_.remove(dispatch_mode_key);
    keys.excluded_ = keys.excluded_.add(dispatch_mode_key) | c10::autograd_dispatch_keyset_with_ADInplaceOrView;
    return keys;
  }
  at::NoGradGuard no_grad_;
  at::tracer::impl::NoTracerDispatchMode no_trace_;
  at::DisableRecordFunctionGuard no_observer_;
  c10::impl::ForceDispatchKeyGuard forced_;  // last: these keys are all that count
};

/// A piece of memory as it was at some time, as a whole: who writes to a view of it may read another one. It does not
/// keep that memory alive.
class memory_image {
 public:
  /// \pre the tensor has a storage
  explicit memory_image(at::Tensor const& t)
      : storage_{t.storage().getWeakStorageImpl()}, options_{t.options().dtype(at::kByte).requires_grad(false)},
        counter_{t.unsafeGetTensorImpl()->version_counter()}, version_{version_of(t)}, values_{memory().clone()} {}
  [[nodiscard]] void const* key() const noexcept { return storage_._unsafe_get_target(); }
  /// The same memory as it is now.   \pre it exists
  [[nodiscard]] memory_image now() const {
    auto copy = *this;
    copy.values_ = memory().clone();
    if (counter_.enabled()) copy.version_ = counter_.current_version();
    return copy;
  }
  /// The same memory without its values, which are as nobody needs them.
  [[nodiscard]] memory_image without_values() const {
    auto copy = *this;
    copy.values_ = at::Tensor{};
    return copy;
  }
  [[nodiscard]] bool has_values() const { return values_.defined(); }
  /// Writes the values and the version back, if there are any, and the memory still exists.
  void put_back() const {
    if (!exists() || !has_values()) return;
    memory().copy_(values_);
    set_version(counter_, version_);
  }
  [[nodiscard]] bool exists() const { return !storage_.expired(); }
  /// Whether values or version have changed since.
  [[nodiscard]] bool is_changed() const {
    if (!exists()) return false;
    if (counter_.enabled() && std::int64_t(counter_.current_version()) != version_) return true;
    return has_values() && !memory().equal(values_);
  }
  /// The same without waiting for a device, whose memory counts as changed.
  [[nodiscard]] bool may_be_changed() const { return exists() && (!values_.is_cpu() || is_changed()); }
  [[nodiscard]] at::Tensor const& values() const noexcept { return values_; }
  [[nodiscard]] std::int64_t version() const noexcept { return version_; }
  [[nodiscard]] std::int64_t bytes() const { return has_values() ? std::int64_t(values_.nbytes()) : 0; }

 private:
  /// Its bytes, as a tensor with a version counter of its own.
  [[nodiscard]] at::Tensor memory() const {
    c10::Storage of{storage_.lock()};
    auto const bytes = std::int64_t(of.nbytes());
    return at::empty({0}, options_).set_(std::move(of), 0, {bytes}, {1});
  }

  c10::weak_intrusive_ptr<c10::StorageImpl> storage_;
  at::TensorOptions options_;
  c10::VariableVersion counter_;
  std::int64_t version_;
  at::Tensor values_;
};

/// A generator of the program's own as it was at some time.
class generator_image {
 public:
  explicit generator_image(at::Generator of) : of_{std::move(of)}, state_{state_of(of_)} {}
  [[nodiscard]] generator_image now() const { return generator_image{of_}; }
  [[nodiscard]] bool is_changed() const { return !state_of(of_).equal(state_); }
  void put_back() const { set_state(of_, state_); }
  [[nodiscard]] void const* key() const noexcept { return of_.unsafeGetGeneratorImpl(); }
  [[nodiscard]] at::Tensor const& state() const noexcept { return state_; }

 private:
  at::Generator of_;
  at::Tensor state_;
};

/// Some memory, and some generators, as they were at some time.
class memory_images {
 public:
  memory_images() = default;
  /// \param tensors  undefined ones are ignored
  explicit memory_images(at::TensorList tensors) {
    below_autograd const unseen;
    for (auto const& t : tensors)
      if (t.defined() && t.has_storage() && !t.is_meta() && !holds(memory_key(t))) images_.emplace_back(t);
  }
  /// The same memory as it is now; shares what has not changed.
  [[nodiscard]] memory_images now() const {
    below_autograd const unseen;
    memory_images all;
    for (auto const& one : images_)
      all.images_.push_back(one.exists() && (!one.has_values() || one.is_changed()) ? one.now() : one);
    all.add_now(generators_);
    return all;
  }
  /// Adds what a computation has changed besides, as it was before it.
  void add(memory_images const& before) {
    for (auto const& one : before.images_)
      if (!holds(one.key())) images_.push_back(one);
    for (auto const& one : before.generators_)
      if (!holds_generator(one.key())) generators_.push_back(one);
  }
  /// Adds generators as they are now; shares what has not changed.
  void add_now(std::vector<generator_image> const& all) {
    for (auto const& one : all) generators_.push_back(one.is_changed() ? one.now() : one);
  }
  void add(memory_image one) { images_.push_back(std::move(one)); }
  [[nodiscard]] bool holds(void const* memory) const {
    return std::any_of(images_.begin(), images_.end(), [&](memory_image const& one) { return one.key() == memory; });
  }
  [[nodiscard]] std::vector<memory_image> const& images() const noexcept { return images_; }
  [[nodiscard]] bool holds_generator(void const* key) const {
    return std::any_of(generators_.begin(), generators_.end(), [&](auto const& one) { return one.key() == key; });
  }
  [[nodiscard]] std::vector<generator_image> const& generators() const noexcept { return generators_; }
  [[nodiscard]] std::size_t size() const noexcept { return images_.size(); }
  void put_back() const {
    below_autograd const unseen;
    for (auto const& one : images_)
      if (one.is_changed()) one.put_back();
    for (auto const& one : generators_) one.put_back();
  }
  /// Calls `see` with the key of each memory or generator that has changed since, and the bytes of its image.
  template <class See>
  void each_changed(See see) const {
    below_autograd const unseen;
    for (auto const& one : images_) if (one.is_changed()) see(one.key(), one.bytes());
    for (auto const& one : generators_) if (one.is_changed()) see(one.key(), std::int64_t(one.state().nbytes()));
  }
  void list_tensors(std::vector<at::Tensor>& all) const {
    for (auto const& one : images_)
      if (one.has_values()) all.push_back(one.values());
    for (auto const& one : generators_) all.push_back(one.state());
  }

 protected:
  std::vector<memory_image> images_;
  std::vector<generator_image> generators_;
};

/// What a computation writes to, and the generators of the program's own that it draws from, as they were before.
class write_log : public memory_images {
 public:
  bool notes_generators = true;

  /// To be called before the computation.   \param given  its inputs; what lies in their memory is not noted
  void begin(at::TensorList given) {
    for (auto const& t : given) if (t.defined()) leave_out(memory_key(t));
  }
  /// What lies in this memory is not noted.
  void leave_out(void const* memory) { left_out_.push_back(memory); }
  /// To be called before the tensor is written to. Tensors without a storage are ignored.
  void note(at::Tensor const& t) {
    if (!t.defined() || !t.has_storage() || t.is_meta() || t.is_quantized()) return;
    if (is_left_out(memory_key(t)) || holds(memory_key(t))) return;
    below_autograd const unseen;
    images_.emplace_back(t);
  }
  /// To be called before numbers are drawn. Default generators are not noted.
  void note(at::Generator const& from) {
    if (!notes_generators || !from.defined() || from == default_generator(from.device())) return;
    if (void const* const key = from.unsafeGetGeneratorImpl(); is_left_out(key) || holds_generator(key)) return;
    below_autograd const unseen;
    generators_.emplace_back(from);
  }
  /// To be called after the computation: drops what has not changed.
  void end() {
    below_autograd const unseen;
    std::erase_if(images_, [](memory_image const& one) { return !one.may_be_changed(); });
    std::erase_if(generators_, [](generator_image const& one) { return !one.is_changed(); });
    left_out_.clear();
  }
  [[nodiscard]] bool empty() const noexcept { return images_.empty() && generators_.empty(); }

 private:
  [[nodiscard]] bool is_left_out(void const* key) const {
    return std::find(left_out_.begin(), left_out_.end(), key) != left_out_.end();
  }

  std::vector<void const*> left_out_;
};

/// Undoes at its end what was noted.
struct undone_writes {
  undone_writes() = default;
  undone_writes(undone_writes const&) = delete;
  undone_writes& operator=(undone_writes const&) = delete;
  ~undone_writes() { log.put_back(); }

  write_log log;
};

}  // namespace cairn::libtorch::detail
