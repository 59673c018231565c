// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file operator_run.hpp  Runs a recorded operator again, as it ran first, on memory of ours and with a generator of
/// its own.
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>
#include <ATen/Context.h>
#include <ATen/core/Generator.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/core/grad_mode.h>
#include <ATen/core/ivalue.h>
#include <ATen/core/stack.h>
#include <ATen/ops/empty.h>
#include <ATen/record_function.h>
#include <c10/core/Storage.h>
#include <c10/core/impl/LocalDispatchKeySet.h>
#include <c10/util/flat_hash_map.h>
#include <cairn/adapt/torch/checkpoint/detail/saved_hooks.hpp>
#include <cairn/adapt/torch/record/detail/memory_cells.hpp>
#include <cairn/adapt/torch/state/detail/read_tracker.hpp>
#include <cairn/adapt/torch/state/rng_states.hpp>

namespace cairn::libtorch::detail {

struct schema_facts {
  bool is_ignored = false;   ///< it makes no memory: views, metadata, a number of a tensor
  bool draws = false;        ///< it may read a generator
  bool any_write = false;    ///< it writes to an argument
  bool is_foreign = false;   ///< not LibTorch's own: it may have effects that its schema does not show
  bool overwrites = false;   ///< it does not read what it writes to
  bool is_like = false;      ///< of its first argument it asks the form, and no values
  bool is_factory = false;   ///< no values of a tensor go in
  bool leaves_open = false;  ///< its result has no values yet
  bool has_gaps = false;     ///< bytes of its workspace are never written, and are others each time
  int noise = -1;            ///< the argument that takes RReLU's noise, if the third one after it is true
  int generator = -1;        ///< the argument with the generator
  int type = -1;             ///< the argument with the type, if no tensor says it
  int results = 0;
  std::vector<char> writes;  ///< for each argument, whether it is written to

  /// Read once for each operator of a process, and never discarded.
  [[nodiscard]] static schema_facts const& of(c10::OperatorHandle const& op) {
    static thread_local ska::flat_hash_map<void const*, schema_facts const*> of_thread;
    auto& place = of_thread[&op.schema()];
    if (place == nullptr) place = &in_process(op);
    return *place;
  }

 private:
  [[nodiscard]] static schema_facts const& in_process(c10::OperatorHandle const& op) {
    static auto* const access = new std::mutex;
    static auto* const all = new std::unordered_map<void const*, std::unique_ptr<schema_facts const>>;
    std::lock_guard const lock{*access};
    auto& place = (*all)[&op.schema()];
    if (!place) place = std::make_unique<schema_facts const>(read(op));
    return *place;
  }
  [[nodiscard]] static schema_facts read(c10::OperatorHandle const& op) {
    schema_facts f;
    auto const& schema = op.schema();
    std::string_view const name = schema.name();
    auto const begins = [&](std::string_view with) { return name.substr(0, with.size()) == with; };
    f.is_like = begins("aten::new_") || (begins("aten::") && name.substr(name.size() - 5) == "_like");
    bool views = !schema.returns().empty(), takes_tensor = false;
    for (std::size_t k = 0; k < schema.arguments().size(); ++k) {
      auto const type = schema.arguments()[k].type()->str();
      if (type.find("Generator") != type.npos) f.generator = int(k);
      if (begins("aten::rrelu") && schema.arguments()[k].name() == "noise") f.noise = int(k);
      takes_tensor = takes_tensor || (type.find("Tensor") != type.npos && !(f.is_like && k == 0));
    }
    auto const uses = arguments_of(schema).uses;
    for (auto const use : uses) {
      f.writes.push_back(detail::writes(use));
      f.any_write = f.any_write || f.writes.back();
    }
    f.overwrites = !uses.empty() && uses.front() == argument_use::overwrite;
    for (auto const& one : schema.returns()) views = views && one.alias_info() != nullptr;
    f.results = int(schema.returns().size());
    f.draws = f.generator >= 0 || op.hasTag(at::Tag::nondeterministic_seeded);
    f.is_foreign = !begins("aten::") && !begins("prims::");
    f.has_gaps = name == "aten::mkldnn_rnn_layer";
    f.leaves_open = begins("aten::empty") || begins("aten::new_empty");
    for (std::size_t k = 0; k < schema.arguments().size() && !takes_tensor; ++k)
      if (schema.arguments()[k].name() == "dtype") f.type = int(k);
    f.is_factory = !takes_tensor && !f.draws && !f.leaves_open;
    bool const moves = op.hasTag(at::Tag::inplace_view) && !begins("aten::resize");
    f.is_ignored =
        !f.is_foreign && ((!f.any_write && views) || moves || name == "aten::set_" || name == "aten::set_data" ||
                          name == "aten::_local_scalar_dense" || name == "aten::equal");
    return f;
  }
};

/// A tensor among the arguments of an operator.
struct recorded_tensor {
  std::uint16_t argument, place;  ///< place in a list
  bool is_in_list;
  bool is_needed;  ///< the operator reads the content, and no argument before this one has it
  int content, layout;
  int of;         ///< the operator
  int next = -1;  ///< the argument before that read the content
};
struct recorded_write {
  int before, after;
  bool reads;  ///< what was there before is needed
  std::int64_t bytes;
};
struct recorded_result {
  int place;  ///< among the tensors that are returned
  int content;
};
/// What a kernel sees besides its arguments; MKL-DNN's LSTM makes its workspace only in grad mode.
struct operator_surroundings {
  c10::impl::LocalDispatchKeySet keys = c10::impl::tls_local_dispatch_key_set();
  bool grad_mode = at::GradMode::is_enabled();
  kernel_settings settings = {};
  [[nodiscard]] bool operator==(operator_surroundings const& other) const {
    return keys.included_ == other.keys.included_ && keys.excluded_ == other.keys.excluded_ &&
           grad_mode == other.grad_mode && settings == other.settings;
  }
};
/// A generator as it was before an operator drew from it. A clone is seeded first, which takes longer than a small
/// operator: of a CPU generator the numbers are enough.
class drawn_generator {
 public:
  drawn_generator() = default;
  explicit drawn_generator(at::Generator of) {
    if (auto* const impl = dynamic_cast<at::CPUGeneratorImpl*>(of.unsafeGetGeneratorImpl()))
      cpu_ = std::make_unique<cpu_generator_state>(*impl);
    else other_ = clone_of(std::move(of));
  }
  [[nodiscard]] bool defined() const noexcept { return cpu_ || other_.defined(); }
  [[nodiscard]] bool is_cpu() const { return cpu_ || (other_.defined() && other_.device().is_cpu()); }
  /// A generator of its own, which draws the same numbers.
  [[nodiscard]] at::Generator copy() const { return cpu_ ? cpu_->copy() : clone_of(other_); }

 private:
  [[nodiscard]] static at::Generator clone_of(at::Generator of) {
    std::lock_guard const lock{of.mutex()};
    return of.clone();
  }

  std::unique_ptr<cpu_generator_state const> cpu_;
  at::Generator other_;
};

struct recorded_operator {
  c10::OperatorHandle op;
  schema_facts const* facts;
  c10::DispatchKeySet below;
  drawn_generator generator;
  float seconds;
  int surroundings;
  std::uint32_t arguments_at, tensors_at, writes_at, results_at, results_end;
  bool has_adjoint = false;    ///< it is part of the graph of autograd
  std::uint64_t sequence = 0;  ///< one past the number of its node there, if it has one
};

/// All parts of one kind lie in one list, so that an operator takes no memory of its own.
class recorded_operators {
 public:
  [[nodiscard]] int size() const noexcept { return int(all_.size()); }
  /// Those that have run: the last one may be running.
  [[nodiscard]] int complete() const noexcept { return size() - int(is_running_); }
  [[nodiscard]] recorded_operator& operator[](int number) { return all_[std::size_t(number)]; }
  [[nodiscard]] recorded_operator const& operator[](int number) const { return all_[std::size_t(number)]; }
  [[nodiscard]] operator_surroundings const& surroundings(int number) const {
    return surroundings_[std::size_t((*this)[number].surroundings)];
  }
  [[nodiscard]] std::span<c10::IValue> arguments(int number) {
    auto const& one = (*this)[number];
    return {arguments_.data() + one.arguments_at, one.facts->writes.size()};
  }
  [[nodiscard]] std::span<recorded_tensor> tensors(int number) {
    auto const begin = (*this)[number].tensors_at;
    return {tensors_.data() + begin, end_of(number, &recorded_operator::tensors_at, tensors_.size()) - begin};
  }
  [[nodiscard]] std::span<recorded_write> writes(int number) {
    auto const begin = (*this)[number].writes_at;
    return {writes_.data() + begin, end_of(number, &recorded_operator::writes_at, writes_.size()) - begin};
  }
  [[nodiscard]] std::span<recorded_result> results(int number) {
    auto const& one = (*this)[number];
    return {results_.data() + one.results_at, one.results_end - one.results_at};
  }
  [[nodiscard]] recorded_tensor& tensor(int number) { return tensors_[std::size_t(number)]; }

  /// Begins the next operator.
  void begin(c10::OperatorHandle const& op, schema_facts const& facts, c10::DispatchKeySet below) {
    operator_surroundings const now;
    if (surroundings_.empty() || !(surroundings_.back() == now)) surroundings_.push_back(now);
    auto const end = [](auto const& list) { return std::uint32_t(list.size()); };
    all_.push_back({op, &facts, below, {}, 0, int(surroundings_.size()) - 1, end(arguments_), end(tensors_),
                    end(writes_), end(results_), end(results_)});
    is_running_ = true;
  }
  /// The last operator has run.
  void finish() noexcept { is_running_ = false; }
  void add(c10::IValue argument) { arguments_.push_back(std::move(argument)); }
  void add(recorded_tensor const& one) { tensors_.push_back(one); }
  void add(recorded_write const& one) { writes_.push_back(one); }
  void add(recorded_result const& one) {
    results_.push_back(one);
    all_.back().results_end = std::uint32_t(results_.size());
  }
  /// Forgets the last operator.
  void undo() {
    auto const& last = all_.back();
    arguments_.resize(last.arguments_at);
    tensors_.resize(last.tensors_at, {});
    writes_.resize(last.writes_at, {});
    results_.resize(last.results_at, {});
    all_.pop_back();
    is_running_ = false;
  }
  /// Visits each content that an operator reads, once.
  template <class Visit>
  void each_read(int number, Visit const& visit) {
    for (auto const& one : tensors(number))
      if (one.is_needed) visit(one.content);
  }
  /// Visits each content that an operator makes.
  template <class Visit>
  void each_made(int number, Visit const& visit) {
    for (auto const& one : results(number)) visit(one.content);
    for (auto const& one : writes(number)) visit(one.after);
  }

 private:
  [[nodiscard]] std::size_t end_of(int number, std::uint32_t recorded_operator::*begin, std::size_t end) const {
    return number + 1 < size() ? (*this)[number + 1].*begin : end;
  }

  bool is_running_ = false;
  std::vector<recorded_operator> all_;
  std::vector<operator_surroundings> surroundings_;
  std::vector<c10::IValue> arguments_;
  std::vector<recorded_tensor> tensors_;
  std::vector<recorded_write> writes_;
  std::vector<recorded_result> results_;
};

/// Held while an operator of a recorded call draws: it draws from the state that is noted. One for
/// all libraries of a program: generators belong to the process.
[[nodiscard, gnu::visibility("default")]] inline std::mutex& drawing_access() {
  static auto* const one = new std::mutex;
  return *one;
}

/// The generator from which a call with these arguments draws.
[[nodiscard]] inline at::Generator generator_of(schema_facts const& facts, c10::ArrayRef<c10::IValue> given) {
  if (facts.generator >= 0 && given[std::size_t(facts.generator)].isGenerator())
    return given[std::size_t(facts.generator)].toGenerator();
  c10::Device device{c10::kCPU};
  for (auto const& v : given)
    if (v.isDevice()) device = v.toDevice();
  for (auto const& v : given)
    if (v.isTensor() && v.toTensor().defined()) device = v.toTensor().device();
  return at::globalContext().defaultGenerator(device);
}
/// What an operator of another library draws, whose schema does not say whether it does.
class draws_of_guest {
 public:
  explicit draws_of_guest(c10::ArrayRef<c10::IValue> given) {
    std::vector<at::Tensor> tensors;
    for (auto const& value : given) visit_tensors(value, [&](at::Tensor const& t) { tensors.push_back(t); });
    devices_ = generator_states::of_devices(tensors);
  }
  /// Whether it drew from this generator.
  [[nodiscard]] bool are_of(drawn_generator const& one) const {
    return one.is_cpu() ? !cpu_.is_now() : !devices_.devices_are_now();
  }
  /// Whether it drew from any other one.   \param one  undefined if it did not draw from the first one
  [[nodiscard]] bool are_of_others(drawn_generator const& one) const {
    bool const on_device = one.defined() && !one.is_cpu();
    return (!cpu_.is_now() && (!one.defined() || on_device)) || (!devices_.devices_are_now() && !on_device);
  }

 private:
  cpu_generator_state cpu_;
  generator_states devices_;
};

/// Gives a generator to the operators of this thread that name none, during its lifetime. The common generator is not
/// touched: other threads may draw from it meanwhile.
class generator_for_all final : public dispatch_mode {
 public:
  explicit generator_for_all(at::Generator given)
      : given_{std::move(given)}, outer_{std::exchange(of_thread(), this)}, on_{true} {}
  generator_for_all(generator_for_all const&) = delete;
  generator_for_all& operator=(generator_for_all const&) = delete;
  ~generator_for_all() { of_thread() = outer_; }

  void call(c10::OperatorHandle const& op, c10::DispatchKeySet below, torch::jit::Stack& stack) override {
    auto const& facts = schema_facts::of(op);
    if (facts.generator >= 0) {
      auto& place = stack[stack.size() - facts.writes.size() + std::size_t(facts.generator)];
      if (place.isNone()) place = given_;
    }
    op.redispatchBoxed(below, &stack);
  }

 private:
  at::Generator given_;
  dispatch_mode* outer_;
  dispatch_mode_scope on_;
};

/// Lends a device's common generator, whose kernels ask for no other, the state of another one.
class lent_generator {
 public:
  explicit lent_generator(at::Generator const& from)
      : lock_{drawing_access()}, common_{at::globalContext().defaultGenerator(from.device())} {
    std::lock_guard const lock{common_.mutex()};
    before_ = common_.get_state();
    common_.set_state(from.get_state());
  }
  lent_generator(lent_generator const&) = delete;
  lent_generator& operator=(lent_generator const&) = delete;
  ~lent_generator() {
    std::lock_guard const lock{common_.mutex()};
    common_.set_state(before_);
  }

 private:
  std::lock_guard<std::mutex> lock_;
  at::Generator common_;
  at::Tensor before_;
};

/// Memories by content.
using memories = ska::flat_hash_map<int, c10::Storage>;

/// \param at_hand  what the operator reads. A memory of it may be written to if `may_write(content, memory)`
/// \returns each content that the operator makes, with its memory
template <class MayWrite>
[[nodiscard]] std::vector<std::pair<int, c10::Storage>> run_again(recorded_operators& all, int number,
                                                                  layout_list const& layouts, memories& at_hand,
                                                                  MayWrite const& may_write) {
  bool const is_observed = at::isRecordFunctionEnabled();
  std::vector<std::pair<int, c10::Storage>> made;
  auto const writes = all.writes(number);
  {
    below_autograd const below;
    for (auto const& w : writes) {
      if (!w.reads) {
        made.emplace_back(w.after, at::empty({w.bytes}, at::TensorOptions(at::kByte)).storage());
        continue;
      }
      auto& memory = at_hand.at(w.before);
      made.emplace_back(w.after, may_write(w.before, memory) ? memory : copy_of(memory));
    }
  }
  auto const& one = all[number];
  auto const tensors = all.tensors(number);
  auto const arguments = all.arguments(number);
  auto const memory_of = [&](int content) -> c10::Storage const& {
    for (std::size_t k = 0; k < writes.size(); ++k)
      if (writes[k].before == content) return made[k].second;
    return at_hand.at(content);
  };
  torch::jit::Stack stack;
  stack.reserve(arguments.size());
  std::size_t next = 0;
  for (std::size_t k = 0; k < arguments.size(); ++k) {
    auto const here = [&](std::size_t place) {
      return next < tensors.size() && tensors[next].argument == k && tensors[next].place == place;
    };
    auto const tensor = [&]() -> c10::IValue {
      auto const& read = tensors[next++];
      return layouts.over(read.layout, memory_of(read.content));
    };
    auto const& like = arguments[k];
    if (like.isList() && next < tensors.size() && tensors[next].argument == k) {
      c10::impl::GenericList list{like.toList().elementType()};
      auto const& values = like.toListRef();
      for (std::size_t place = 0; place < values.size(); ++place)
        list.push_back(here(place) ? tensor() : values[place]);
      stack.emplace_back(std::move(list));
    } else {
      stack.push_back(!like.isList() && here(0) ? tensor() : like);
    }
  }
  auto const& around = all.surroundings(number);
  below_autograd const below{around.keys};
  at::AutoGradMode const as_then{around.grad_mode};
  settings_scope const settings{around.settings};
  std::optional<generator_for_all> named;
  std::optional<lent_generator> lent;
  if (one.generator.defined()) {
    if (one.facts->generator >= 0) stack[std::size_t(one.facts->generator)] = one.generator.copy();
    else if (one.generator.is_cpu() && !one.facts->is_foreign) named.emplace(one.generator.copy());
    else lent.emplace(one.generator.copy());
  }
  {
    at::RecordFunctionGuard const as_outside{is_observed};
    at::RecordFunction shown{at::RecordScope::FUNCTION};  // to observers, such as traces
    if (shown.isActive())
      shown.before(std::cref(one.op.schema()), c10::ArrayRef<c10::IValue const>(stack.data(), stack.size()));
    one.op.redispatchBoxed(one.below, &stack);
  }
  auto const results = all.results(number);
  int place = 0;
  std::size_t wanted = 0;
  for (auto const& value : stack)
    each_tensor(value, [&](at::Tensor const& t) {
      bool const is_next = wanted < results.size() && results[wanted].place == place;
      ++place;
      if (is_next) made.emplace_back(results[wanted++].content, t.storage());
    });
  return made;
}

/// Whether an operator may write to the memory of a content that nobody reads after it: nobody else holds it, or only
/// for parts that the operator does not write to. LSTMs compute their gates so, slice by slice in one memory.
[[nodiscard]] inline bool may_be_overwritten(memory_cells& contents, recorded_operators& operators,
                                             layout_list const& layouts, int number, int c,
                                             c10::Storage const& memory) {
  if (memory.use_count() == 1) return true;
  auto const* const impl = memory.unsafeGetStorageImpl();
  auto const stays = [&](int part) {
    auto const& one = contents[part];
    if (!one.is_own || one.is_mixed || one.is_kept || one.saved_layout < 0) return false;
    auto const& writes = operators[number].facts->writes;
    for (auto const& t : operators.tensors(number))
      if (writes[t.argument] && t.content == c && layouts.may_overlap(one.saved_layout, t.layout)) return false;
    return true;
  };
  std::size_t holders = 1;
  auto& parts = contents.cell_of(c).parts;
  for (int const part : parts) {
    if (contents[part].kept.unsafeGetStorageImpl() != impl) continue;
    if (!stays(part)) return false;
    ++holders;
  }
  auto& one = contents[c];
  bool const is_held = one.kept.unsafeGetStorageImpl() == impl && !one.is_part;
  if (is_held && !stays(c)) return false;
  if (holders + std::size_t(is_held) != std::size_t(memory.use_count())) return false;
  if (is_held) one.is_part = true, parts.push_back(c);
  return true;
}

}  // namespace cairn::libtorch::detail
