// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file graph_sweep.hpp  Runs a captured graph by a plan, and holds its values, tapes and adjoints between actions.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>
#include <ATen/core/Tensor.h>
#include <ATen/core/grad_mode.h>
#include <c10/core/impl/LocalDispatchKeySet.h>
#include <cairn/adapt/torch/graph/detail/call_leaves.hpp>
#include <cairn/adapt/torch/graph/detail/captured_graph.hpp>
#include <cairn/adapt/torch/graph/detail/first_operation_run.hpp>
#include <cairn/adapt/torch/graph/detail/graph_program.hpp>
#include <cairn/adapt/torch/graph/detail/operation_tape.hpp>
#include <cairn/adapt/torch/state/detail/read_tracker.hpp>
#include <cairn/adapt/torch/state/tensor_state.hpp>
#include <cairn/core/action.hpp>
#include <cairn/core/error.hpp>
#include <cairn/core/event.hpp>
#include <cairn/rules/operation_graph.hpp>
#include <cairn/run/sweep/detail/execute.hpp>
#include <cairn/store/store.hpp>

namespace cairn::libtorch::detail {

/// One call, from its first action to its last. A copy shares the tensors, and is independent from then on.
class graph_sweep : private cairn::detail::no_hooks {
 public:
  static constexpr bool keeps_nothing = true;  // plans of calls have no saves
  /// \param leaves  the inputs of the call, then the other leaves of the graph
  graph_sweep(std::shared_ptr<graph_program const> program, at::TensorList leaves)
      : program_{std::move(program)},
        leaves_{leaves},
        values_(size()),
        tapes_(size()),
        adjoints_(size()),
        leaf_adjoints_(leaves.size()),
        first_{std::make_shared<std::vector<first_operation_run>>(size())} {}

  /// Obeys the plan up to the loss, and returns the results without a history.
  [[nodiscard]] tensor_list forward() {
    obey();
    tensor_list results;
    for (auto const& from : program_->graph.results) results.push_back(tensor_at(from));
    return results;
  }
  /// Whether a tensor requires a gradient in the plain call.   \pre `forward` has run
  [[nodiscard]] bool requires_grad(tensor_source const& from) const {
    return from.operation < 0 ? leaves_.requires_grad(std::size_t(from.output))
                              : (*first_)[std::size_t(from.operation)].requires_grad[std::size_t(from.output)];
  }
  [[nodiscard]] call_leaves const& leaves() const noexcept { return leaves_; }

  /// Obeys the rest of the plan, and returns the adjoints of the leaves.
  /// \param bars  adjoints of the results; an undefined one adds nothing
  /// \param wanted  for each leaf: whether its adjoint is wanted
  /// \param keeps  whether another copy of this sweep may still run, so that the tapes must stay usable
  [[nodiscard]] tensor_list backward(tensor_list bars, part_flags const& wanted, bool keeps) {
    keeps_ = keeps;
    is_behind_loss_ = true;
    wanted_leaves_ = wanted;
    note_wanted();
    for (std::size_t k = 0; k < bars.size(); ++k) {
      auto const& from = program_->graph.results[k];
      if (from.operation < 0 || !bars[k].defined()) continue;
      auto& list = adjoints_of(std::size_t(from.operation));
      add_gradient(list[std::size_t(from.output)], std::move(bars[k]));
    }
    bars.clear();
    obey();
    return std::move(leaf_adjoints_);
  }

  /// Runs the call again without the plan, and returns the results as the plain call does: with the history of
  /// `leaves`, and with nothing dropped.
  [[nodiscard]] tensor_list plainly(at::TensorList leaves) {
    std::vector<tensor_list> values(size());
    for (std::size_t v = 0; v < size(); ++v) {
      auto const& one = program_->graph.operations[v];
      tensor_list inputs;
      for (auto const& from : one.inputs)
        inputs.push_back(from.operation < 0
                             ? (check_leaf(std::size_t(from.output)), leaves[leaves_.slot(std::size_t(from.output))])
                             : values[std::size_t(from.operation)][std::size_t(from.output)]);
      auto const drawing = drawing_of(one, program_->rng);
      operation_rerun const around{(*first_)[v], one, drawing, inputs};
      c10::impl::ExcludeDispatchKeyGuard const no_casts{c10::autocast_dispatch_keyset};
      values[v] = one.run(inputs);
      drawing.check(program_->who, (*first_)[v].overlapped);
    }
    tensor_list results;
    for (auto const& from : program_->graph.results)
      results.push_back(from.operation < 0 ? at::Tensor{}
                                           : values[std::size_t(from.operation)][std::size_t(from.output)]);
    return results;
  }

 private:
  template <class Cursor, class States, class Step, class User, class Observer>
  friend cairn::detail::stop_reason cairn::detail::execute(Cursor&, States&, Step&, User&, Observer&,
                                                           cairn::detail::sweep_status&);

  /// The tensors of a value, and their versions when it was computed.
  struct kept_value {
    tensor_list tensors;
    std::vector<std::int64_t> versions;
  };
  [[nodiscard]] std::size_t size() const noexcept { return program_->graph.operations.size(); }
  void obey() {
    no_observer nobody;
    cairn::detail::sweep_status status;
    auto& self = *this;
    (void)cairn::detail::execute(*this, self, *this, self, nobody, status);
  }

  // the cursor
  [[nodiscard]] action next() noexcept {
    auto const& all = program_->actions;
    return next_ < all.size() ? all[next_++] : action{};
  }

  // the states
  void advance(graph_sweep&, step_index from, step_index, step_index&) {
    tell(graph_actions::advance(from));
    run(std::size_t(from), program_->free_tape[std::size_t(from)]);
  }
  void drop(place at) { values_[std::size_t(at.slot)] = {}; }

  // the user
  void record(graph_sweep&, action const& a) {
    tell(a);
    values_[std::size_t(a.from)] = {};
    run(std::size_t(a.from), true);
  }
  void drop_tape(graph_sweep&, slot_index v) { tapes_[std::size_t(v)].reset(); }
  void reverse(graph_sweep&, action const& a) {
    tell(a);
    auto const v = std::size_t(a.from);
    auto const tape = std::exchange(tapes_[v], nullptr);
    auto bars = std::exchange(adjoints_[v], {});
    bool const has_bar = std::any_of(bars.begin(), bars.end(), [](at::Tensor const& t) { return t.defined(); });
    if (has_bar && is_wanted_[v]) {
      if (!tape) refuse_plan(v);
      auto const& inputs = program_->graph.operations[v].inputs;
      std::vector<at::Tensor*> sums;
      std::vector<at::Tensor const*> leaves;
      for (auto const& from : inputs) {
        sums.push_back(sum_for(from));
        auto const k = std::size_t(from.output);
        leaves.push_back(from.operation < 0 && leaves_.is_end(k) ? &leaves_[k] : nullptr);
      }
      tape->reverse(std::move(bars), [&](std::size_t k) { return tensor_at(inputs[k]); },
                    [&](std::size_t k) { return tensor_at({std::int32_t(v), std::int32_t(k)}); }, sums, leaves, keeps_);
    }
    values_[v] = {};
  }

  void tell(action const& a) const {
    if (program_->told && (is_behind_loss_ || program_->tells_forward)) program_->told(a);
  }
  void run(std::size_t v, bool keeps_tape) {
    auto const& what = program_->graph.operations[v];
    auto& first = (*first_)[v];
    tensor_list inputs;
    part_flags flags;
    for (auto const& from : what.inputs) {
      inputs.push_back(tensor_at(from));
      flags.push_back(requires_grad(from));
    }
    bool const keeps = keeps_tape && !tapes_[v] && (is_wanted_.empty() || is_wanted_[v]);
    auto const drawing = drawing_of(what, program_->rng);
    auto done = [&] {
      if (first.ran) {
        operation_rerun const around{first, what, drawing, inputs};
        return operation_tape::run(what, inputs, flags, keeps, program_->refers[v]);
      }
      at::NoGradGuard const off;
      first.begin(what, inputs, program_->rng);
      return operation_tape::run(what, inputs, flags, keeps, program_->refers[v]);
    }();
    if (first.ran) {
      drawing.check(program_->who, first.overlapped);
    } else {
      first.requires_grad = std::move(done.requires_grad);
      first.overlapped = drawing.overlaps();
      first.ran = true;
    }
    auto versions = versions_of(done.value);
    values_[v] = {std::move(done.value), std::move(versions)};
    if (keeps) tapes_[v] = std::move(done.tape);
  }

  void check_leaf(std::size_t k) const {
    if (!program_->changing_leaf[k] && leaves_.is_changed(k)) refuse_change("leaf", k);
  }
  [[nodiscard]] at::Tensor tensor_at(tensor_source const& from) const {
    auto const k = std::size_t(from.output);
    if (from.operation < 0) {
      check_leaf(k);
      return leaves_[k];
    }
    auto const& value = values_[std::size_t(from.operation)];
    if (k >= value.tensors.size()) refuse_plan(std::size_t(from.operation));
    if (version_of(value.tensors[k]) != value.versions[k]) refuse_change("operation", std::size_t(from.operation));
    return value.tensors[k];
  }
  [[noreturn]] void refuse_change(char const* what, std::size_t number) const {
    throw invalid_call{program_->who,
                       "a tensor that was read was changed in place before backward",
                       {{what, number}},
                       "run backward first, for example before the optimiser's step"};
  }
  [[noreturn]] void refuse_plan(std::size_t v) const {
    throw invalid_schedule{program_->who, "the plan asks for a value or a tape that is not kept", {{"operation", v}},
                           "check it with cairn::replay first"};
  }

  [[nodiscard]] tensor_list& adjoints_of(std::size_t v) {
    auto& list = adjoints_[v];
    list.resize(std::size_t(program_->graph.operations[v].results));
    return list;
  }
  /// Where the adjoint of a tensor is summed; null if it is not wanted.
  [[nodiscard]] at::Tensor* sum_for(tensor_source const& from) {
    auto const k = std::size_t(from.output);
    if (from.operation >= 0)
      return is_wanted_[std::size_t(from.operation)] ? &adjoints_of(std::size_t(from.operation))[k] : nullptr;
    auto const slot = leaves_.slot(k);
    return wanted_leaves_[slot] ? &leaf_adjoints_[slot] : nullptr;
  }
  /// Marks the operations whose adjoints lead to a wanted leaf.
  void note_wanted() {
    is_wanted_.assign(size(), false);
    for (std::size_t v = 0; v < size(); ++v)
      for (auto const& from : program_->graph.operations[v].inputs)
        if (from.operation >= 0 ? is_wanted_[std::size_t(from.operation)]
                                : wanted_leaves_[leaves_.slot(std::size_t(from.output))])
          is_wanted_[v] = true;
  }

  std::shared_ptr<graph_program const> program_;
  call_leaves leaves_;
  std::vector<kept_value> values_;
  std::vector<std::shared_ptr<operation_tape>> tapes_;
  std::vector<tensor_list> adjoints_;
  tensor_list leaf_adjoints_;
  std::shared_ptr<std::vector<first_operation_run>> first_;
  part_flags wanted_leaves_, is_wanted_;
  bool keeps_ = false, is_behind_loss_ = false;
  std::size_t next_ = 0;
};

}  // namespace cairn::libtorch::detail
