// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file recorded_operators.hpp  The operators of a call, with their arguments, in the order in which they ran.
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>
#include <ATen/core/Generator.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/core/grad_mode.h>
#include <c10/core/impl/LocalDispatchKeySet.h>
#include <c10/util/flat_hash_map.h>
#include <cairn/adapt/torch/state/detail/environment.hpp>
#include <cairn/adapt/torch/state/detail/operation_arguments.hpp>

namespace cairn::libtorch::detail {

struct schema_facts {
  bool is_ignored = false;   ///< it makes no memory: views, metadata, a number of a tensor
  bool draws = false;        ///< it may read a generator
  bool any_write = false;    ///< it writes to an argument
  bool is_foreign = false;   ///< not LibTorch's own: it may have effects that its schema does not show
  bool overwrites = false;   ///< it does not read what it writes to
  bool is_factory = false;   ///< no tensor goes in
  bool leaves_open = false;  ///< its result has no values yet
  bool has_gaps = false;     ///< bytes of its workspace are never written, and are others each time
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
    bool views = !schema.returns().empty(), takes_tensor = false;
    for (std::size_t k = 0; k < schema.arguments().size(); ++k) {
      auto const type = schema.arguments()[k].type()->str();
      if (type.find("Generator") != type.npos) f.generator = int(k);
      takes_tensor = takes_tensor || type.find("Tensor") != type.npos;
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
struct recorded_operator {
  c10::OperatorHandle op;
  schema_facts const* facts;
  c10::DispatchKeySet below;
  at::Generator generator;  ///< as it was before
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

}  // namespace cairn::libtorch::detail
