// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file call_trace.hpp  Lists the operators of a call with LibTorch's tracer, or says why that is impossible.
#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>
#include <ATen/TracerMode.h>
#include <ATen/core/Generator.h>
#include <ATen/core/Tensor.h>
#include <ATen/core/grad_mode.h>
#include <ATen/record_function.h>
#include <c10/core/impl/LocalDispatchKeySet.h>
#include <torch/csrc/autograd/variable.h>
#include <torch/csrc/jit/frontend/tracer.h>
#include <torch/csrc/jit/ir/ir.h>
#include <cairn/adapt/torch/graph/detail/call_program.hpp>
#include <cairn/adapt/torch/graph/detail/capture_refused.hpp>
#include <cairn/adapt/torch/graph/detail/trace_reader.hpp>
#include <cairn/adapt/torch/state/detail/captures.hpp>
#include <cairn/adapt/torch/state/detail/operation_arguments.hpp>
#include <cairn/adapt/torch/state/detail/read_tracker.hpp>
#include <cairn/adapt/torch/state/detail/rng_autocast.hpp>
#include <cairn/adapt/torch/state/tensor_state.hpp>

namespace cairn::libtorch::detail {

/// A call of a module or a function from tensors to tensors.
using tensor_call = std::function<tensor_list(tensor_list const& inputs)>;

/// A tensor that a module has registered.
struct registered_tensor {
  std::string name;
  bool is_parameter = false;
};
using registered_tensors = std::unordered_map<at::TensorImpl const*, registered_tensor>;

/// Runs a call once and records each operator with its constants. The tracer leaves nothing behind, even after an
/// exception. Tensors from outside, such as parameters, buffers and masks, are found when an operator first reads them.
class call_trace {
 public:
  /// \param names  of tensors that a module has registered; must outlive the trace
  explicit call_trace(registered_tensors const& names) : names_{names} {}
  /// \param inputs  leaves that belong to the trace, or that the module has registered; the same tensor in two places
  ///   counts once
  /// \throws capture_refused   with the reason; exceptions of the call become one, too
  void run(tensor_call const& call, tensor_list const& inputs) {
    if (torch::jit::tracer::isTracing()) throw capture_refused{"a trace of LibTorch's is under way in this thread"};
    static bool const hears_of_nodes = (torch::jit::tracer::setRecordSourceLocation(&call_trace::at_node), true);
    (void)hears_of_nodes;
    program_.inputs = inputs.size();
    state_ = std::make_shared<torch::jit::tracer::TracingState>();
    for (auto const& t : inputs) add_leaf(t);
    try {
      trace(call, inputs);
    } catch (capture_refused const&) {
      throw;
    } catch (std::exception const& e) {
      if (!flaw_.empty()) throw capture_refused{flaw_};
      std::string const text = e.what();
      throw capture_refused{"the call ended with an error while it was traced: " + text.substr(0, text.find('\n'))};
    } catch (...) {
      throw capture_refused{"the call ended with an exception while it was traced"};
    }
    if (!flaw_.empty()) throw capture_refused{flaw_};
    check_leaves();
    trace_reader{*state_->graph, records_, program_}.read();
  }
  call_trace(call_trace const&) = delete;
  call_trace& operator=(call_trace const&) = delete;

  [[nodiscard]] call_program const& program() const noexcept { return program_; }
  /// What the call returned.
  [[nodiscard]] tensor_list const& results() const noexcept { return results_; }
  /// To be called last: drops the results.
  /// \throws capture_refused   if a differentiable tensor of the call is kept elsewhere, where later calls would not
  ///   renew it
  void check_kept() {
    results_.clear();
    for (auto const& one : made_)
      if (!one.expired())
        throw capture_refused{"a differentiable tensor leaves it other than as a result, by a capture or a member"};
  }
  /// Version of each leaf, the count of its changes in place, when it was found.
  [[nodiscard]] std::vector<std::int64_t> const& versions() const noexcept { return versions_; }
  /// Restores buffers, inputs that the module has registered, and generators that the call names. Tensors that have not
  /// changed are only read, because other threads may read them, too.
  void restore() const {
    for (auto const& [known, state] : generators_) {
      auto generator = known;
      std::lock_guard const lock{generator.mutex()};
      generator.set_state(state);
    }
    at::NoGradGuard const no_grad;
    for (std::size_t k = 0; k < before_.size(); ++k)
      if (before_[k].defined() && !program_.is_constant[k] && !program_.leaves[k].equal(before_[k]))
        program_.leaves[k].variable_data().copy_(before_[k]);  // does not change the version counter of the buffer
  }

 private:
  /// The trace of this thread while its call runs.
  [[nodiscard]] static call_trace*& at_work() {
    static thread_local call_trace* now = nullptr;
    return now;
  }
  /// While it lives, this thread's operators are traced and observed.
  class scope {
   public:
    explicit scope(call_trace& trace)
        : handle_{at::addThreadLocalCallback(at::RecordFunctionCallback(&call_trace::at_start, &call_trace::at_end)
                                                 .needsInputs(true)
                                                 .needsOutputs(true)
                                                 .scopes({at::RecordScope::FUNCTION,
                                                          at::RecordScope::TORCHSCRIPT_FUNCTION}))} {
      at_work() = &trace;
      torch::jit::tracer::setTracingState(trace.state_);
    }
    scope(scope const&) = delete;
    scope& operator=(scope const&) = delete;
    ~scope() {
      torch::jit::tracer::setTracingState(nullptr);
      at_work() = nullptr;
      at::removeCallback(handle_);
    }

   private:
    at::CallbackHandle handle_;
  };

  void trace(tensor_call const& call, tensor_list const& inputs) {
    scope const tracing{*this};
    results_ = call(inputs);
    for (auto const& t : results_) {
      if (!t.defined()) throw capture_refused{"one of its results is an undefined tensor"};
      if (!state_->hasValue(t)) throw capture_refused{"one of its results comes from no operator that was traced"};
      state_->graph->registerOutput(state_->getValue(t));
    }
    check_loops();
  }
  /// A loop is one node with a plan of its own, and its steps ran without a graph.
  void check_loops() const {
    edge_list roots;
    for (auto const& t : results_) if (t.grad_fn()) roots.push_back(torch::autograd::impl::gradient_edge(t));
    auto const is_loop = [](Node const& node) { return node.name() == "CheckpointedLoopBackward"; };
    if (leads_to(roots, [](Node const&) { return true; }, is_loop))
      throw capture_refused{
          "it runs checkpointed_loop, or a scan or a recurrent layer of cairn's, which has a plan of its own"};
  }

  static void at_node(torch::jit::Node* node) {
    auto* const trace = at_work();
    if (trace == nullptr) return;
    trace->records_[node] = at::GradMode::is_enabled();
    auto const below = c10::impl::tls_is_dispatch_key_excluded(c10::DispatchKey::AutogradCPU);
    if (below && trace->flaw_.empty() && node->kind().toQualString() != std::string_view{"aten::_convolution"})
      trace->flaw_ = std::string{"it calls "} + node->kind().toQualString() + " below autograd";
  }
  static void at_end(at::RecordFunction const& f, at::ObserverContext*) {
    auto* const trace = at_work();
    if (trace == nullptr) return;
    for (auto const& output : f.outputs())
      visit_tensors(output, [&](at::Tensor const& t) {
        if (t.requires_grad() && !t.is_leaf()) trace->made_.emplace_back(t.getIntrusivePtr());
      });
  }
  static std::unique_ptr<at::ObserverContext> at_start(at::RecordFunction const& f) {
    if (auto* const trace = at_work(); trace != nullptr) trace->starts(f);
    return nullptr;
  }
  void flaw(std::string text) { if (flaw_.empty()) flaw_ = std::move(text); }
  void starts(at::RecordFunction const& f) {
    using c10::DispatchKey;
    std::string_view const name{f.name()};
    if (f.scope() == at::RecordScope::TORCHSCRIPT_FUNCTION) {
      // LibTorch itself runs a script of that name when it first parses arguments with defaults.
      if (name != "defaults") flaw("it runs TorchScript, which optimises itself");
      return;
    }
    for (std::string_view const one :
         {"aten::nonzero", "aten::masked_select", "aten::_unique", "aten::_unique2", "aten::unique_dim",
          "aten::unique_consecutive", "aten::unique_dim_consecutive", "aten::bincount"})
      if (name == one) return flaw("sizes of results depend on values: it calls " + std::string{name});
    if (!c10::impl::tls_is_dispatch_key_included(DispatchKey::Tracer) ||
        c10::impl::tls_is_dispatch_key_excluded(DispatchKey::Tracer))
      return;  // part of another operator
    for (std::string_view const one :
         {"aten::item", "aten::_local_scalar_dense", "aten::is_nonzero", "aten::equal", "aten::allclose"})
      if (name == one && !(name == "aten::equal" && is_known(inputs_of(f))))
        return flaw("the program reads a value of a tensor by " + std::string{name} +
                    ", so that what it does may depend on data");
    for (auto const& value : inputs_of(f)) {
      visit_tensors(value, [&](at::Tensor const& t) { if (!state_->hasValue(t)) add_leaf(t); });
      if (value.isGenerator()) add_generator(value.toGenerator());
    }
  }
  void add_generator(at::Generator generator) {
    if (!generator.defined()) return;
    flaw("it names the generator from which it draws random numbers");
    for (auto const& [known, state] : generators_) if (known == generator) return;
    at::DisableRecordFunctionGuard const unseen;
    at::tracer::impl::NoTracerDispatchMode const untraced;
    std::lock_guard const lock{generator.mutex()};
    generators_.emplace_back(generator, generator.get_state());
  }
  /// Whether two tensors are known to be equal, or known to differ, regardless of their values: attention compares its
  /// arguments.
  [[nodiscard]] static bool is_known(c10::ArrayRef<c10::IValue const> both) {
    if (both.size() != 2 || !both[0].isTensor() || !both[1].isTensor()) return false;
    auto const &a = both[0].toTensor(), &b = both[1].toTensor();
    return a.is_same(b) || a.sizes() != b.sizes();
  }
  void add_leaf(at::Tensor const& t) {
    bool const is_input = program_.leaves.size() < program_.inputs;
    auto* const value = state_->graph->addInput();
    program_.leaves.push_back(t);
    versions_.push_back(version_of(t));
    before_.emplace_back();
    auto const found = names_.find(t.unsafeGetTensorImpl());
    program_.leaf_names.push_back(found == names_.end() ? std::string{} : found->second.name);
    bool const is_parameter = found != names_.end() && found->second.is_parameter;
    program_.is_watched.push_back(!is_input && t.defined() && !t.requires_grad() && !is_parameter);
    program_.is_constant.push_back(0);
    if (!t.defined() || (is_input && state_->hasValue(t))) return;
    state_->setValue(t, value);
    bool const is_own = is_input && found != names_.end();  // not a copy, so a refused call must leave it as it was
    if (!program_.is_watched.back() && !is_own) return;
    at::DisableRecordFunctionGuard const unseen;
    at::tracer::impl::NoTracerDispatchMode const untraced;
    autocast_off const no_casts;
    at::NoGradGuard const no_grad;
    before_.back() = t.detach().clone();
  }
  struct autocast_off {
    c10::impl::ExcludeDispatchKeyGuard off{c10::autocast_dispatch_keyset};
  };

  /// Checks that everything found outside will also be there in the next call.
  void check_leaves() {
    for (std::size_t k = 0; k < program_.leaves.size(); ++k) {
      auto const& t = program_.leaves[k];
      if (!t.defined()) continue;
      if (!t.has_storage()) throw capture_refused{"it reads a tensor without memory of its own, such as a sparse one"};
      if (t.is_inference()) throw capture_refused{"it reads a tensor of inference mode"};
      if (k < program_.inputs) continue;
      if (t.grad_fn())
        throw capture_refused{"it reads a tensor with a history that is not one of its inputs"};
      program_.is_constant[k] = t.use_count() == 1;
      if (!program_.is_constant[k] || t.numel() <= 1) continue;
      throw capture_refused{
          "it makes a tensor around LibTorch's operators, as torch::tensor, from_blob and other threads do"};
    }
  }

  registered_tensors const& names_;
  std::shared_ptr<torch::jit::tracer::TracingState> state_;
  call_program program_;
  tensor_list results_;
  tensor_list before_;  ///< by leaf: the contents that `restore` puts back, from before an operator first read
                        ///< the leaf; undefined if there is nothing to put back
  std::vector<std::int64_t> versions_;
  std::vector<std::pair<at::Generator, at::Tensor>> generators_;  ///< generators that the call names, with their states
                                                                  ///< before it
  std::string flaw_;  ///< the first reason for a refusal
  recorded_nodes records_;
  std::vector<weak_tensor> made_;  ///< differentiable results of operators
};

}  // namespace cairn::libtorch::detail
