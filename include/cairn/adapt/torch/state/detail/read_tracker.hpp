// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file read_tracker.hpp  Tracks the operations of a thread, the outside tensors that they read, and whether these
/// tensors are changed in place later.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <sstream>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>
#include <ATen/core/Tensor.h>
#include <ATen/core/ivalue.h>
#include <ATen/record_function.h>
#include <c10/core/StorageImpl.h>
#include <c10/core/TensorImpl.h>
#include <c10/core/UndefinedTensorImpl.h>
#include <cairn/adapt/torch/state/detail/operation_arguments.hpp>
#include <cairn/adapt/torch/state/detail/tensor_metadata.hpp>
#include <cairn/adapt/torch/state/detail/write_log.hpp>
#include <cairn/adapt/torch/state/determinism.hpp>
#include <cairn/core/action.hpp>
#include <cairn/core/error.hpp>

namespace cairn::libtorch::detail {

#ifdef NDEBUG
[[nodiscard]] inline c10::ArrayRef<const c10::IValue> inputs_of(at::RecordFunction const& f) { return f.inputs(); }
#else
// LibTorch's own builds do not set the flag that `inputs()` asserts in programs built without NDEBUG, so the assertion
// would fail at every call. The private member is at the same place; an explicit instantiation may name it.
[[nodiscard]] c10::ArrayRef<const c10::IValue> inputs_of(at::RecordFunction const& f);
template <auto Member>
struct names_inputs {
  friend c10::ArrayRef<const c10::IValue> inputs_of(at::RecordFunction const& f) { return f.*Member; }
};
template struct names_inputs<&at::RecordFunction::inputs_>;
#endif

/// The version of each tensor.
[[nodiscard]] inline std::vector<std::int64_t> versions_of(at::TensorList parts) {
  std::vector<std::int64_t> versions;
  for (auto const& part : parts) versions.push_back(version_of(part));
  return versions;
}

/// A tensor that is not kept alive.
using weak_tensor = c10::weak_intrusive_ptr<c10::TensorImpl, c10::UndefinedTensorImpl>;

/// A tensor that was read.
struct tensor_read {
  weak_tensor tensor;
  std::int64_t version = 0;  ///< before it was read

  explicit tensor_read(at::Tensor const& t) : tensor{t.getIntrusivePtr()}, version{version_of(t)} {}
  tensor_read(weak_tensor t, std::int64_t before) : tensor{std::move(t)}, version{before} {}
  /// The tensor; undefined if it was destroyed.
  [[nodiscard]] at::Tensor lock() const {
    auto pointer = tensor.lock();
    return pointer ? at::Tensor{std::move(pointer)} : at::Tensor{};
  }
};

/// Observes the operations of the calling thread during its lifetime, and the tensors that they read, without keeping
/// these alive. It does not see other threads, nor memory accesses outside LibTorch's operations. Trackers nest: each
/// sees everything.
class read_tracker {
 public:
  /// \param names  whether to record the names of operations   \param changes  gets each tensor that was not made
  ///   meanwhile, before it is written to
  explicit read_tracker(bool names = false, write_log* changes = nullptr) : names_{names}, changes_{changes} {
    if (active().empty()) {
      auto callback = at::RecordFunctionCallback(&read_tracker::at_start, &read_tracker::at_end)
                          .needsInputs(true)
                          .needsOutputs(true);
      handle() = at::addThreadLocalCallback(
          callback.scopes({at::RecordScope::FUNCTION, at::RecordScope::TORCHSCRIPT_FUNCTION}));
    }
    active().push_back(this);
  }
  read_tracker(read_tracker const&) = delete;
  read_tracker& operator=(read_tracker const&) = delete;
  ~read_tracker() {
    active().erase(std::find(active().begin(), active().end(), this));
    if (active().empty()) at::removeCallback(handle());
  }

  /// During its lifetime, the innermost tracker of this thread notes what is made, but neither reads nor operations.
  class pause {
   public:
    pause() { if (tracker_ != nullptr) ++tracker_->pauses_; }
    pause(pause const&) = delete;
    pause& operator=(pause const&) = delete;
    ~pause() { if (tracker_ != nullptr) --tracker_->pauses_; }

   private:
    read_tracker* tracker_ = active().empty() ? nullptr : active().back();
  };

  /// Whether an operation of this thread is running that updates an argument.
  [[nodiscard]] static bool is_updating() { return !active().empty() && !active().back()->updating_.empty(); }
  /// The same of this argument.
  [[nodiscard]] static bool is_updating(at::Tensor const& t) {
    if (active().empty()) return false;
    auto const& now = active().back()->updating_;
    auto const is = [key = memory_key(t)](auto const& one) { return one.second == key; };
    return std::any_of(now.begin(), now.end(), is);
  }
  /// Whether TorchScript ran.
  [[nodiscard]] bool saw_script() const noexcept { return script_; }
  /// Whether operations make so much memory each, 1 MiB on average, that tracking adds at most 1 % to the time of a
  /// gradient.
  [[nodiscard]] bool costs_little() const noexcept { return made_bytes_ >= seen_ << 20; }
  /// The operations that were not part of another one, in order.
  [[nodiscard]] std::vector<std::string> const& operations() const noexcept { return operations_; }
  /// Whether an observed operation made the tensor's memory.
  [[nodiscard]] bool made(at::Tensor const& t) const {
    auto const found = memory_.find(memory_key(t));
    return found != memory_.end() && found->second.what == use::made;
  }
  /// The tensors that existed before, were read before anything wrote to them, and still exist, in the order of
  /// reading. A tensor that was written first, such as a buffer or a counter, brings in no earlier value.
  /// \param given  these, and tensors that share their memory, are excluded
  [[nodiscard]] std::vector<tensor_read> reads(at::TensorList given) const {
    std::vector<tensor_read> all;
    for (auto const* one : order_) {
      if (one->what != use::read || (changes_ != nullptr && changes_->holds(one->key))) continue;
      if (any_in_memory(given, one->key)) continue;
      auto const add = [&](weak_tensor const& t) { if (!t.expired()) all.emplace_back(t, one->version); };
      add(one->tensor);
      for (auto const& other : one->others) add(other);
    }
    return all;
  }

  /// Calls `see` with the memory of each given tensor that was read through another tensor, which neither is given nor
  /// was made by an observed operation.
  template <class See>
  void each_read_beside(at::TensorList given, See see) const {
    for (auto const* one : order_) {
      if (one->what != use::read || !any_in_memory(given, one->key)) continue;
      auto const is_beside = [&](weak_tensor const& read) {
        auto const* const target = read._unsafe_get_target();
        if (target == c10::UndefinedTensorImpl::singleton()) return false;
        auto const is = [target](at::Tensor const& t) { return t.defined() && t.unsafeGetTensorImpl() == target; };
        return std::none_of(given.begin(), given.end(), is) &&
               std::find(one->views.begin(), one->views.end(), target) == one->views.end();
      };
      if (is_beside(one->tensor) || std::any_of(one->others.begin(), one->others.end(), is_beside)) see(one->key);
    }
  }

 private:
  using weak_storage = c10::weak_intrusive_ptr<c10::StorageImpl>;
  enum class use : char { unknown, reading, read, written, made };
  /// Some memory, and the tensors observed in it.
  struct seen {
    void const* key;
    weak_storage storage;  ///< held weakly, so that its address is not reused
    std::int64_t version;
    use what;
    std::size_t number;
    weak_tensor tensor{c10::intrusive_ptr<c10::TensorImpl, c10::UndefinedTensorImpl>{}};  ///< the first tensor
    std::vector<weak_tensor> others{};
    std::vector<c10::TensorImpl const*> views{};  ///< made of it by observed operations
  };

  [[nodiscard]] static std::vector<read_tracker*>& active() {
    static thread_local std::vector<read_tracker*> in_force;
    return in_force;
  }
  [[nodiscard]] static at::CallbackHandle& handle() {
    static thread_local at::CallbackHandle of_thread{};
    return of_thread;
  }
  static std::unique_ptr<at::ObserverContext> at_start(at::RecordFunction const& f) {
    for (auto* const tracker : active()) tracker->starts(f);
    return nullptr;
  }
  static void at_end(at::RecordFunction const& f, at::ObserverContext*) {
    for (auto* const tracker : active()) tracker->ends(f);
  }

  [[nodiscard]] seen& memory_of(at::Tensor const& t) {
    auto const* const key = memory_key(t);
    auto found = memory_.find(key);
    if (found == memory_.end()) {
      auto storage =
          t.has_storage() ? t.storage().getWeakStorageImpl() : weak_storage{c10::intrusive_ptr<c10::StorageImpl>{}};
      found = memory_.emplace(key, seen{key, std::move(storage), 0, use::unknown, order_.size()}).first;
      order_.push_back(&found->second);
    }
    return found->second;
  }
  static void note_tensor(seen& one, at::Tensor const& t) {
    auto const is = [&](weak_tensor const& known) { return known._unsafe_get_target() == t.unsafeGetTensorImpl(); };
    if (is(one.tensor) || std::any_of(one.others.begin(), one.others.end(), is)) return;
    weak_tensor weak{t.getIntrusivePtr()};
    if (one.tensor._unsafe_get_target() == c10::UndefinedTensorImpl::singleton()) one.tensor = std::move(weak);
    else one.others.push_back(std::move(weak));
  }
  [[nodiscard]] static std::string text_of(char const* name, c10::ArrayRef<c10::IValue const> inputs) {
    std::ostringstream text;
    text << name << '(';
    char const* before = "";
    for (auto const& value : inputs)
      visit_tensors(value, [&](at::Tensor const& t) {
        text << std::exchange(before, ", ") << at::toString(t.scalar_type()) << t.sizes();
      });
    text << ')';
    return text.str();
  }
  void starts(at::RecordFunction const& f) {
    if (f.scope() == at::RecordScope::TORCHSCRIPT_FUNCTION) {
      script_ = true;
      return;
    }
    ++seen_;
    auto const inputs = inputs_of(f);
    if (names_ && begun_.empty() && pauses_ == 0) operations_.push_back(text_of(f.name(), inputs));
    begun_.push_back(order_.size());
    if (pauses_ > 0) return;
    auto const& kinds = arguments_of(f);
    for (std::size_t k = 0; k < inputs.size(); ++k)
      visit_tensors(inputs[k], [&, kind = kinds.of(k, inputs)](at::Tensor const& t) { uses(t, kind); });
    begun_.back() = order_.size();
  }
  void uses(at::Tensor const& t, argument_use kind) {
    auto& one = memory_of(t);
    bool const writes = kind == argument_use::write || kind == argument_use::update;
    if (kind == argument_use::update) updating_.emplace_back(begun_.size(), one.key);
    if (one.what == use::made) return;
    // What a kernel makes for itself shows only when an inner operation writes to it.
    bool const is_given = begun_.size() == 1 || one.number < begun_.front();
    if (writes && is_given && changes_ != nullptr) changes_->note(t);
    if (one.what == use::written || kind == argument_use::update) return;
    note_tensor(one, t);
    if (one.what != use::unknown) return;
    if (writes) one.what = use::written;
    if (kind != argument_use::read) return;
    one.what = use::reading;
    one.version = version_of(t);
    reading_.emplace_back(&one, weak_tensor{t.getIntrusivePtr()});
  }
  void ends(at::RecordFunction const& f) {
    if (f.scope() == at::RecordScope::TORCHSCRIPT_FUNCTION || begun_.empty())
      return;  // empty: the operation began before the tracker
    auto const known = begun_.back();
    while (!updating_.empty() && updating_.back().first == begun_.size()) updating_.pop_back();
    begun_.pop_back();
    for (auto const& output : f.outputs())
      visit_tensors(output, [&](at::Tensor const& t) {
        auto& one = memory_of(t);
        if (one.number < known) {
          one.views.push_back(t.unsafeGetTensorImpl());
          return;
        }
        if (one.what != use::made && t.has_storage()) made_bytes_ += t.storage().nbytes();
        one.what = use::made;
      });
    if (!begun_.empty()) return;
    for (auto const& [one, weak] :
         reading_) {  // a composite operation may write at its end to what it reads
      auto const pointer = weak.lock();
      if (one->what != use::reading) continue;
      one->what = pointer && version_of(at::Tensor{pointer}) != one->version ? use::written : use::read;
    }
    reading_.clear();
  }

  std::unordered_map<void const*, seen> memory_;
  std::vector<seen const*> order_;
  std::vector<std::size_t> begun_;  ///< for each running operation: how much memory had been seen with its arguments
  std::vector<std::pair<seen*, weak_tensor>> reading_;  ///< first read by the outermost running operation
  std::vector<std::string> operations_;
  std::size_t seen_ = 0, made_bytes_ = 0;  ///< number of operations, including nested ones, and bytes they made
  bool names_, script_ = false;
  write_log* changes_;
  std::vector<std::pair<std::size_t, void const*>> updating_;  ///< memory, with the depth of the operation
  int pauses_ = 0;
};

/// The memory of some tensors, which are not kept alive.
class storage_set {
 public:
  void add(at::Tensor const& t) {
    if (!t.has_storage()) return;
    all_.try_emplace(t.storage().unsafeGetStorageImpl(), t.storage().getWeakStorageImpl());
    if (all_.size() < bound_) return;
    std::erase_if(all_, [](auto const& one) { return one.second.expired(); });
    bound_ = 2 * all_.size() + 64;
  }
  [[nodiscard]] bool holds(at::Tensor const& t) const {
    return t.defined() && t.has_storage() && all_.contains(t.storage().unsafeGetStorageImpl());
  }
  /// The same for the address of some memory.
  [[nodiscard]] bool holds_address(void const* of) const {
    return all_.contains(static_cast<c10::StorageImpl const*>(of));
  }

 private:
  using weak_storage = c10::weak_intrusive_ptr<c10::StorageImpl>;

  /// While the weak reference exists, its address is not reused.
  std::unordered_map<c10::StorageImpl const*, weak_storage> all_;
  std::size_t bound_ = 64;  ///< at this size the set is searched for freed memory
};

/// The outside tensors that a recomputation reads.
class read_list {
 public:
  /// \param how  with Bits, all values of parameters are compared, otherwise a sample; with Off none
  void compare(Check how) noexcept { check_ = how; }
  /// \param step  the step that reads it; a tensor that is already in the list keeps its entry
  void add(tensor_read read, step_index step) {
    auto* const key = read.tensor._unsafe_get_target();
    if (!known_.try_emplace(key, all_.size()).second) return;
    if (auto const t = read.lock(); t.defined()) memory_.add(t);
    auto const sample = sample_of(read.lock());
    all_.push_back({std::move(read), step, sample});
  }
  void add(at::Tensor const& t, step_index step) { if (t.defined()) add(tensor_read{t}, step); }
  void add(std::vector<tensor_read> reads, step_index step) {
    for (auto& read : reads) add(std::move(read), step);
  }
  /// Adds the tensors that the computation has read but not changed; for a computation without steps.
  void add_unchanged(std::vector<tensor_read> reads) {
    for (auto& read : reads)
      if (auto const t = read.lock(); t.defined() && version_of(t) == read.version) add(std::move(read), 0);
  }
  /// Whether a tensor, or another that shares its memory, is in the list.
  [[nodiscard]] bool knows_memory_of(at::Tensor const& t) const {
    return known_.contains(t.unsafeGetTensorImpl()) || memory_.holds(t);
  }
  [[nodiscard]] std::size_t size() const noexcept { return all_.size(); }
  /// The number of the first parameter whose values are others, though no version tells; size() if there is none.
  [[nodiscard]] std::size_t first_rewritten() const {
    std::size_t k = 0;
    for (; k < size(); ++k)
      if (auto const t = all_[k].read.lock(); all_[k].counts && t.defined() && sample_of(t) != all_[k].sample) return k;
    return k;
  }
  /// From now on changes of this memory do not count.
  void leave_out(void const* memory) {
    for (auto& one : all_)
      if (auto const t = one.read.lock(); t.defined() && memory_key(t) == memory) one.counts = false;
  }
  /// The number of the first tensor that has changed since it was read; size() if none has.
  [[nodiscard]] std::size_t first_changed() const {
    std::size_t k = 0;
    for (; k < size(); ++k)
      if (auto const t = all_[k].read.lock();
          all_[k].counts && t.defined() && version_of(t) != all_[k].read.version)
        return k;
    return k;
  }
  /// The step that read tensor k first.
  [[nodiscard]] step_index step(std::size_t k) const { return all_[k].step; }
  /// ": " and the type, size and device of tensor k; empty if the tensor was destroyed.
  [[nodiscard]] std::string text(std::size_t k) const {
    std::ostringstream text;
    if (auto const t = all_[k].read.lock(); t.defined())
      text << ": " << at::toString(t.scalar_type()) << t.sizes() << " on " << t.device();
    return text.str();
  }

 private:
  struct noted {
    tensor_read read;
    step_index step;
    std::uint64_t sample;  ///< a hash of values, if it is a parameter
    bool counts = true;
  };
  /// Optimisers may write to parameters through `data()`, which counts as no change.
  [[nodiscard]] std::uint64_t sample_of(at::Tensor const& t) const {
    if (check_ == Check::Off || !t.defined() || !t.is_leaf() || !t.requires_grad()) return 0;
    return check_ == Check::Bits ? hash_of_bits(t) : hash_of_sample(t);
  }

  std::vector<noted> all_;
  std::unordered_map<c10::TensorImpl const*, std::size_t>
      known_;  ///< while the weak reference exists, its address is not reused
  storage_set memory_;
  Check check_ = Check::Metadata;
};

inline constexpr char const* rewritten =
    "a parameter has other values than when it was read, though no operator has changed it";
inline constexpr char const* rewritten_advice =
    "run backward first: LibTorch's SGD changes parameters through data(), which autograd does not see";

/// To be called before the computation that read these tensors runs again.   \param where  identifies that computation
/// \throws invalid_call   if a tensor was changed in place
inline void check_reads(read_list const& reads, char const* who, named_value where) {
  if (std::size_t const k = reads.first_changed(); k < reads.size())
    throw invalid_call{who, "a tensor that was read was changed in place before backward", {where, {"tensor read", k}},
                       "run backward first, for example before the optimiser's step"};
  if (std::size_t const k = reads.first_rewritten(); k < reads.size())
    throw invalid_call{who, rewritten, {where, {"tensor read", k}}, rewritten_advice};
}

}  // namespace cairn::libtorch::detail
