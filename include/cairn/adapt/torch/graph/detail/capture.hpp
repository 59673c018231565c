// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file capture.hpp  Makes the graph of operations of a call, and checks it against the call.
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>
#include <ATen/autocast_mode.h>
#include <ATen/core/Tensor.h>
#include <ATen/core/grad_mode.h>
#include <c10/core/impl/LocalDispatchKeySet.h>
#include <torch/nn/module.h>
#include <cairn/adapt/torch/checkpoint/detail/saved_hooks.hpp>
#include <cairn/adapt/torch/graph/detail/call_program.hpp>
#include <cairn/adapt/torch/graph/detail/call_trace.hpp>
#include <cairn/adapt/torch/graph/detail/capture_refused.hpp>
#include <cairn/adapt/torch/graph/detail/captured_graph.hpp>
#include <cairn/adapt/torch/graph/detail/program_facts.hpp>
#include <cairn/adapt/torch/graph/detail/program_groups.hpp>
#include <cairn/adapt/torch/graph/detail/trace_reader.hpp>
#include <cairn/adapt/torch/state/detail/read_tracker.hpp>
#include <cairn/adapt/torch/state/detail/rng_autocast.hpp>

namespace cairn::libtorch::detail {

/// The result of a capture: a graph, or the reason why there is none.
struct captured_call {
  std::shared_ptr<captured_graph const> graph;  ///< null if the call was refused
  std::string refused;                          ///< a sentence without its full stop; empty if there is a graph
};

/// Replaces changes in place by operators that make new memory, if the change is far from the operator that made the
/// memory and the old contents are not read again. Otherwise all operators in between would be one operation.
/// \returns whether any was replaced
inline bool put_out_of_place(call_program& program, program_facts const& facts) {
  bool any = false;
  std::vector<std::size_t> made_by(program.values, program.operators.size());
  for (std::size_t k = 0; k < program.operators.size(); ++k)
    for (auto const value : program.operators[k].results) if (value >= 0) made_by[std::size_t(value)] = k;
  auto const is_view = [&](std::size_t k) {
    auto const& of = facts.operators[k];
    return !of.views.empty() && of.makes.empty() && of.writes.empty();
  };
  std::unordered_map<std::int32_t, std::size_t> last_write;  // for each memory
  for (std::size_t k = 0; k < program.operators.size(); ++k) {
    auto& one = program.operators[k];
    auto const& of = facts.operators[k];
    for (auto const memory : of.makes) last_write[memory] = k;
    if (of.writes.size() != 1 || one.writes.size() != 1 || one.results.size() != 1 || one.results.front() < 0) continue;
    auto const memory = of.writes.front();
    auto const value = one.writes.front();
    auto const maker = facts.maker[std::size_t(memory)];
    auto const before = last_write.contains(memory) ? last_write[memory] : k;
    last_write[memory] = k;
    if (maker < 0 || !facts.whole[std::size_t(value)] || one.name.back() != '_' || one.operands.empty() ||
        one.operands.front().values != std::vector<std::int32_t>{value})
      continue;
    auto const first = facts.same[std::size_t(value)];
    if (made_by[std::size_t(first)] != std::size_t(maker)) continue;  // the value is a view
    bool is_far = false, is_read = false;
    for (std::size_t between = before + 1; between < k; ++between) is_far = is_far || !is_view(between);
    auto const is_old = [&](std::int32_t other) {
      return other >= 0 && facts.memory[std::size_t(other)] == memory && other != one.results.front() &&
             (made_by[std::size_t(other)] < k || std::size_t(other) < program.leaves.size());
    };
    for (std::size_t later = k + 1; later < program.operators.size(); ++later)
      program.operators[later].visit_reads([&](std::int32_t other) { is_read = is_read || is_old(other); });
    for (auto const result : program.results) is_read = is_read || is_old(result);
    if (!is_far || is_read) continue;
    auto const name = one.name.substr(0, one.name.size() - 1);
    try {
      one.call = operation_named(name.c_str(), one.overload);
    } catch (capture_refused const&) {
      continue;
    }
    one.name = name;
    one.writes.clear();
    any = true;
  }
  return any;
}

/// Captures calls, one at a time.
class call_capture {
 public:
  /// The graph of a call, or why there is none. Runs the call once and its operators once or twice, and keeps nothing
  /// for backward. Afterwards generators, buffers and inputs are as before.
  /// \param module  gives the operations their names; may be null
  [[nodiscard]] static captured_call make(tensor_call const& call, tensor_list const& inputs,
                                          torch::nn::Module const* module) {
    try {
      return {std::make_shared<captured_graph const>(graph_of(call, inputs, module)), {}};
    } catch (capture_refused const& e) {
      return {nullptr, e.reason};
    }
  }

 private:
  /// While it lives, the call reuses no casts made before, and later calls reuse none of its casts.
  struct fresh_casts {
    fresh_casts() { at::autocast::clear_cache(); }
    fresh_casts(fresh_casts const&) = delete;
    fresh_casts& operator=(fresh_casts const&) = delete;
    ~fresh_casts() { at::autocast::clear_cache(); }
  };
  struct buffers_as_before {
    explicit buffers_as_before(call_trace const& trace) : of{trace} {}
    buffers_as_before(buffers_as_before const&) = delete;
    buffers_as_before& operator=(buffers_as_before const&) = delete;
    ~buffers_as_before() { of.restore(); }
    call_trace const& of;
  };

  /// Tensors like the inputs, each with its own memory, except for the module's parameters and buffers among them: such
  /// an input and the tensor that the module reads are one leaf.
  [[nodiscard]] static tensor_list leaves_like(tensor_list const& inputs, registered_tensors const& names) {
    tensor_list leaves;
    for (std::size_t k = 0; k < inputs.size(); ++k) {
      auto const& t = inputs[k];
      auto const first = first_place(inputs, k);
      if (first < k) leaves.push_back(leaves[first]);
      else if (!t.defined()) leaves.emplace_back();
      else {
        if (!t.has_storage()) throw capture_refused{"an input has no memory of its own, as sparse tensors have none"};
        if (t.is_inference()) throw capture_refused{"an input is a tensor of inference mode"};
        if (names.contains(t.unsafeGetTensorImpl()) && !t.grad_fn()) {
          leaves.push_back(t);
          continue;
        }
        at::NoGradGuard const off;
        auto own = t.detach();
        if (own.is_non_overlapping_and_dense()) own = own.clone();  // the call may change it
        leaves.push_back(own.requires_grad_(t.requires_grad()));
      }
    }
    return leaves;
  }
  [[nodiscard]] static captured_graph graph_of(tensor_call const& call, tensor_list const& inputs,
                                               torch::nn::Module const* module) {
    need_saved_hooks("cairn::libtorch::checkpoint_module");
    registered_tensors names;
    if (module != nullptr) {
      for (auto const& one : module->named_parameters())
        names.try_emplace(one.value().unsafeGetTensorImpl(), registered_tensor{one.key(), true});
      for (auto const& one : module->named_buffers())
        names.try_emplace(one.value().unsafeGetTensorImpl(), registered_tensor{one.key(), false});
    }
    at::AutoGradMode const records{true};
    auto const leaves = leaves_like(inputs, names);
    generator_use const drawing{Rng::Preserve};
    auto const generators = generator_states::now(leaves);
    generator_guard const at_end{drawing, generators};
    call_trace trace{names};
    {
      fresh_casts const casts;
      buffers_as_before const buffers{trace};
      saved_hooks_scope const hooks{[] { return std::make_unique<forgetful_hooks>(); }};
      trace.run(call, leaves);
    }
    auto program = trace.program();
    for (std::size_t k = 0; k < program.leaves.size(); ++k) {
      auto const& t = program.leaves[k];
      if (!t.defined() || version_of(t) == trace.versions()[k] || program.is_watched[k]) continue;
      throw capture_refused{k < program.inputs ? "it changes an input in place" : "it changes a parameter in place"};
    }
    auto facts = observed(program, trace, drawing, generators);
    auto other = program;
    if (put_out_of_place(other, facts)) {
      try {
        facts = observed(other, trace, drawing, generators);
        program = std::move(other);
      } catch (capture_refused const&) {
        // If the two differ, as in the type of a sum, the change stays in place.
      }
    }
    auto graph = program_groups{program, facts}.graph();
    trace.check_kept();
    return graph;
  }
  /// Runs the operators and compares the results with those of the call.
  [[nodiscard]] static program_facts observed(call_program const& program, call_trace const& trace,
                                              generator_use const& drawing, generator_states const& generators) {
    drawing.put_back(generators);
    buffers_as_before const buffers{trace};
    c10::impl::ExcludeDispatchKeyGuard const no_casts{c10::autocast_dispatch_keyset};
    program_observer observer{program};
    auto facts = [&] {
      try {
        return observer.run();
      } catch (capture_refused const&) {
        throw;
      } catch (std::exception const& e) {
        std::string const text = e.what();
        throw capture_refused{"its operators cannot run one by one: " + text.substr(0, text.find('\n'))};
      }
    }();
    for (std::size_t k = 0; k < trace.results().size(); ++k)
      if (!have_same_bits(trace.results()[k], observer.results()[k]))
        throw capture_refused{"its operators, run one by one, give different bits from the call"};
    if (auto text = recorded_alike::difference(trace.results(), observer.results()); !text.empty())
      throw capture_refused{std::move(text)};
    return facts;
  }
};

}  // namespace cairn::libtorch::detail
