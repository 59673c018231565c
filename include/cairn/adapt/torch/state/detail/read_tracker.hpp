// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file read_tracker.hpp  Tracks the operations of a thread, the outside tensors that they read, and whether these
/// tensors are changed in place later.
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <sstream>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>
#include <ATen/EmptyTensor.h>
#include <ATen/core/Tensor.h>
#include <ATen/core/function_schema.h>
#include <ATen/core/ivalue.h>
#include <ATen/core/operator_name.h>
#include <ATen/record_function.h>
#include <c10/core/StorageImpl.h>
#include <c10/core/TensorImpl.h>
#include <c10/core/UndefinedTensorImpl.h>
#include <cairn/adapt/torch/state/detail/tensor_metadata.hpp>
#include <cairn/adapt/torch/state/detail/write_log.hpp>
#include <cairn/adapt/torch/state/rng_states.hpp>
#include <cairn/core/action.hpp>
#include <cairn/core/error.hpp>

namespace cairn::libtorch::detail {

/// Visits the tensors in a value, including those in lists and undefined ones.
template <class Visit>
void each_tensor(c10::IValue const& value, Visit const& visit) {
  if (value.isTensor()) visit(value.toTensor());
  else if (value.isList())
    for (auto const& one : value.toListRef()) each_tensor(one, visit);
}
/// Visits those that are defined.
template <class Visit>
void visit_tensors(c10::IValue const& value, Visit const& visit) {
  each_tensor(value, [&](at::Tensor const& t) {
    if (t.defined()) visit(t);
  });
}

/// `overwrite`: what it held before is not read. `update`: what it held before, such as a running mean, is not read for
/// the results, and schemas do not say that it is written.
enum class argument_use : char { read, view, write, overwrite, update };

[[nodiscard]] inline bool writes(argument_use use) noexcept { return use > argument_use::view; }
[[nodiscard]] inline argument_use use_of(c10::Argument const& one) {
  auto const* const alias = one.alias_info();
  if (alias == nullptr) return argument_use::read;
  if (!alias->isWrite()) return argument_use::view;
  return one.kwarg_only() ? argument_use::overwrite : argument_use::write;  // `out`
}

/// How an operation uses its arguments.
struct operation_arguments {
  static constexpr std::size_t always = std::size_t(-1);

  std::vector<argument_use> uses;
  /// The argument that says whether updates happen, or `always`.
  std::size_t mode = always;

  [[nodiscard]] argument_use of(std::size_t k, c10::ArrayRef<c10::IValue const> given) const {
    if (k >= uses.size()) return argument_use::read;
    bool const is_off = mode < given.size() && given[mode].isBool() && !given[mode].toBool();
    return uses[k] == argument_use::update && is_off ? argument_use::read : uses[k];
  }
};

/// Batch norms write to their running means, and RReLU to its noise, as said nowhere but in their names.
[[nodiscard]] inline operation_arguments arguments_of(c10::FunctionSchema const& schema) {
  operation_arguments found;
  bool makes_noise = false;
  bool const is_adjoint = schema.name().find("backward") != std::string::npos;
  for (auto const& one : schema.arguments()) {
    auto const& name = one.name();
    bool const updates = !is_adjoint && (name == "running_mean" || name == "running_var" || name == "noise");
    if (name == "training" || name == "use_input_stats") found.mode = found.uses.size();
    if (name == "noise") makes_noise = true;  // in evaluation mode it stays uninitialised
    found.uses.push_back(updates ? argument_use::update : use_of(one));
  }
  if (makes_noise) found.mode = operation_arguments::always;
  constexpr std::array<std::string_view, 9> whole{"aten::copy_",   "aten::fill_",        "aten::zero_",
                                                  "aten::normal_", "aten::bernoulli_",   "aten::uniform_",
                                                  "aten::random_", "aten::exponential_", "aten::log_normal_"};
  if (std::find(whole.begin(), whole.end(), schema.name()) != whole.end())
    found.uses.front() = argument_use::overwrite;
  return found;
}

/// The same of a running operation. LibTorch returns schemas by copy, which takes longer than a
/// small operation, so each thread reads each schema once.
[[nodiscard]] inline operation_arguments const& arguments_of(at::RecordFunction const& f) {
  static thread_local std::unordered_map<c10::OperatorName, operation_arguments> known;
  static operation_arguments const none;
  auto const name = f.operator_name();
  if (!name) return none;
  auto const [place, is_new] = known.try_emplace(*name);
  if (!is_new) return place->second;
  if (auto const schema = f.operator_schema()) place->second = arguments_of(*schema);
  return place->second;
}

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

/// The bytes of its memory between which a tensor lies.
struct byte_range {
  std::int64_t begin, end;
  [[nodiscard]] static byte_range of(at::Tensor const& t) {
    if (t.numel() == 0) return {0, 0};
    auto const offset = std::size_t(t.storage_offset()), each = std::size_t(t.element_size());
    auto const end = at::detail::computeStorageNbytes(t.sizes(), t.strides(), each, offset);
    return {std::int64_t(offset * each), std::int64_t(end)};
  }
};

/// Observes the operations of the calling thread during its lifetime, and the tensors that they read, without keeping
/// these alive. It does not see other threads, nor memory accesses outside LibTorch's operations. Trackers nest: each
/// sees everything.
class read_tracker {
 public:
  /// \param changes  gets each tensor that was not made meanwhile, before it is written to, and each generator
  explicit read_tracker(write_log* changes = nullptr) : changes_{changes} {
    if (active().empty()) {
      auto callback = at::RecordFunctionCallback(&read_tracker::at_start, &read_tracker::at_end)
                          .needsInputs(true)
                          .needsOutputs(true);
      handle() = at::addThreadLocalCallback(callback.scopes({at::RecordScope::FUNCTION}));
    }
    active().push_back(this);
  }
  read_tracker(read_tracker const&) = delete;
  read_tracker& operator=(read_tracker const&) = delete;
  ~read_tracker() {
    active().erase(std::find(active().begin(), active().end(), this));
    if (active().empty()) at::removeCallback(handle());
  }

  /// Whether operations make so much memory each, 1 MiB on average, that tracking adds at most 1 % to the time of a
  /// gradient.
  [[nodiscard]] bool costs_little() const noexcept { return made_bytes_ >= seen_ << 20; }
  /// Whether an observed operation made the tensor's memory.
  [[nodiscard]] bool made(at::Tensor const& t) const {
    auto const found = memory_.find(memory_key(t));
    return found != memory_.end() && found->second.what == use::made;
  }
  /// Whether values of this memory were read that nothing observed had written before.
  [[nodiscard]] bool needs_earlier(void const* memory) const {
    auto const found = memory_.find(memory);
    if (found == memory_.end()) return false;
    auto const& one = found->second;
    return one.needs_earlier || one.what == use::read || one.what == use::reading;
  }
  /// Calls `see` with each memory, beside that of the given tensors, whose earlier values were read, be it gone or not.
  template <class See>
  void each_read(at::TensorList given, See see) const {
    for (auto const* one : order_)
      if (one->what == use::read && !any_in_memory(given, one->key)) see(one->key, one->storage);
  }
  /// Calls `see` with each memory that an observed operation made and that still exists.
  template <class See>
  void each_made(See see) const {
    for (auto const* one : order_)
      if (one->what == use::made && one->storage.use_count() > 0) see(one->key, one->storage);
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
    std::vector<byte_range> written{};            ///< by tensors without gaps
    bool needs_earlier = false;                   ///< what was read had not been written before
    [[nodiscard]] bool has_written(byte_range const& read) const {
      return std::any_of(written.begin(), written.end(),
                         [&](byte_range const& w) { return w.begin <= read.begin && read.end <= w.end; });
    }
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
  void starts(at::RecordFunction const& f) {
    ++seen_;
    auto const inputs = inputs_of(f);
    begun_.push_back(order_.size());
    auto const& kinds = arguments_of(f);
    for (std::size_t k = 0; k < inputs.size(); ++k) {
      if (changes_ != nullptr && inputs[k].isGenerator()) changes_->note(inputs[k].toGenerator());
      visit_tensors(inputs[k], [&, kind = kinds.of(k, inputs)](at::Tensor const& t) { uses(t, kind); });
    }
    for (auto const& [one, range] : writing_) one->written.push_back(range);  // after all of them are read
    writing_.clear();
    begun_.back() = order_.size();
  }
  void uses(at::Tensor const& t, argument_use kind) {
    if (t.unsafeGetTensorImpl()->is_wrapped_number()) return;  // a number of the program
    auto& one = memory_of(t);
    bool const is_written = writes(kind);
    if (one.what == use::made) return;
    // What a kernel makes for itself shows only when an inner operation writes to it.
    bool const is_given = begun_.size() == 1 || one.number < begun_.front();
    if (is_written && is_given && changes_ != nullptr) changes_->note(t);
    if (is_given && t.has_storage()) note_values(one, t, kind);
    if (one.what == use::written || kind == argument_use::update) return;
    note_tensor(one, t);
    if (one.what != use::unknown) return;
    if (is_written) one.what = use::written;
    if (kind != argument_use::read) return;
    one.what = use::reading;
    one.version = version_of(t);
    reading_.emplace_back(&one, weak_tensor{t.getIntrusivePtr()});
  }
  /// Whether an operation needs values that nothing has written, and what it writes.
  void note_values(seen& one, at::Tensor const& t, argument_use kind) {
    if (kind == argument_use::view) return;
    auto const range = byte_range::of(t);
    if (one.has_written(range)) return;
    if (kind == argument_use::write || kind == argument_use::update ||
        (kind == argument_use::read && one.what == use::written))
      one.needs_earlier = true;
    if (writes(kind) && t.is_non_overlapping_and_dense()) writing_.emplace_back(&one, range);
  }
  void ends(at::RecordFunction const& f) {
    if (begun_.empty()) return;  // the operation began before the tracker
    auto const known = begun_.back();
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
      bool const is_written = pointer && version_of(at::Tensor{pointer}) != one->version;
      one->what = is_written ? use::written : use::read;
      one->needs_earlier = one->needs_earlier || is_written;
    }
    reading_.clear();
  }

  std::unordered_map<void const*, seen> memory_;
  std::vector<seen const*> order_;
  std::vector<std::size_t> begun_;  ///< for each running operation: how much memory had been seen with its arguments
  std::vector<std::pair<seen*, byte_range>> writing_;      ///< by the operation that begins
  std::vector<std::pair<seen*, weak_tensor>> reading_;  ///< first read by the outermost running operation
  std::size_t seen_ = 0, made_bytes_ = 0;  ///< number of operations, including nested ones, and bytes they made
  write_log* changes_;
};

/// The memory of some tensors, which are not kept alive, with a number each.
class storage_set {
 public:
  using weak_storage = c10::weak_intrusive_ptr<c10::StorageImpl>;

  /// \param number  of memory that is not in the set
  void add(at::Tensor const& t, step_index number = 0) {
    if (t.has_storage()) add(t.storage().getWeakStorageImpl(), number);
  }
  void add(weak_storage const& memory, step_index number) {
    if (memory._unsafe_get_target() == nullptr) return;
    all_.try_emplace(memory._unsafe_get_target(), memory, number);
    if (all_.size() < bound_) return;
    std::erase_if(all_, [](auto const& one) { return one.second.first.expired(); });
    bound_ = 2 * all_.size() + 64;
  }
  /// The number of some memory; -1 if it is not in the set.
  [[nodiscard]] step_index number_of(void const* memory) const {
    auto const found = all_.find(static_cast<c10::StorageImpl const*>(memory));
    return found == all_.end() ? -1 : found->second.second;
  }
  [[nodiscard]] bool holds(at::Tensor const& t) const { return t.defined() && number_of(memory_key(t)) >= 0; }

 private:
  /// While the weak reference exists, its address is not reused.
  std::unordered_map<c10::StorageImpl const*, std::pair<weak_storage, step_index>> all_;
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
  /// While the weak reference exists, its address is not reused.
  std::unordered_map<c10::TensorImpl const*, std::size_t> known_;
  storage_set memory_;
  Check check_ = Check::Metadata;
};

inline constexpr char const* rewritten =
    "a parameter has other values than when it was read, though no operator has changed it";
inline constexpr char const* rewritten_advice =
    "run backward first: LibTorch's SGD changes parameters through data(), which autograd does not see";

}  // namespace cairn::libtorch::detail
