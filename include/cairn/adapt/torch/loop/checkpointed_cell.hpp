// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file checkpointed_cell.hpp  A recurrent cell over a sequence under checkpoints, as a module.
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <ostream>
#include <tuple>
#include <type_traits>
#include <utility>
#include <ATen/ops/empty.h>
#include <ATen/ops/zeros.h>
#include <torch/arg.h>
#include <torch/nn/cloneable.h>
#include <torch/nn/module.h>
#include <torch/nn/modules/rnn.h>
#include <torch/nn/pimpl.h>
#include <cairn/adapt/torch/loop/loop_estimate.hpp>
#include <cairn/adapt/torch/loop/loop_options.hpp>
#include <cairn/adapt/torch/loop/loop_plans.hpp>
#include <cairn/adapt/torch/loop/scan.hpp>
#include <cairn/adapt/torch/state/detail/versions.hpp>
#include <cairn/adapt/torch/state/tensor_state.hpp>
#include <cairn/core/error.hpp>

namespace cairn::libtorch {

/// Options of `CheckpointedCell`.
struct CheckpointedCellOptions {
  /// Whether sequences are [batch, T, features] instead of [T, batch, features].
  TORCH_ARG(bool, batch_first) = false;
  /// Options of the loop over the sequence. The cell's own parameters and buffers need not be named.
  TORCH_ARG(LoopOptions, loop) = {};
};

namespace detail {

template <class Result, class Module, class Input, class State>
Result cell_result(Result (Module::*)(Input, State));
template <class Result, class Module, class Input, class State>
Result cell_result(Result (Module::*)(Input, State) const);
template <class Cell>
using cell_state = decltype(cell_result(&Cell::ContainedType::forward));
/// A module holder whose module has `forward(input, state)`, which returns the next state.
template <class Cell>
concept recurrent_cell = tensor_state<cell_state<Cell>> &&
    requires(Cell& cell, at::Tensor const& x, cell_state<Cell> const& state) {
  { cell->forward(x, state) } -> std::same_as<cell_state<Cell>>;
};

}  // namespace detail

/// Runs a cell over a sequence by `checkpointed_scan`. Parameters have the cell's names, so either can load what the
/// other saved, and are shared with the given cell. For the layers of `torch::nn::LSTM`, `GRU` and `RNN` see
/// `CheckpointedLSTM`.
/// \tparam Cell  a module holder, such as `torch::nn::LSTMCell`, whose module has `forward(input, state)`, which
///   returns the next state. The output of a step is the state's first tensor
template <detail::recurrent_cell Cell>
class CheckpointedCellImpl : public torch::nn::Cloneable<CheckpointedCellImpl<Cell>> {
 public:
  using CellImpl = typename Cell::ContainedType;  ///< the module inside
  using State = detail::cell_state<Cell>;  ///< the cell's state

  /// \param cell  shared, not copied
  explicit CheckpointedCellImpl(Cell cell, CheckpointedCellOptions const& options = {})
      : options_{options}, cell_{std::move(cell)} {
    torch::nn::Module::train(cell_->is_training());  // before the children are added, because they keep their own modes
    for (auto const& item : cell_->named_parameters(false))
      this->register_parameter(item.key(), item.value(), item.value().requires_grad());
    for (auto const& item : cell_->named_buffers(false)) this->register_buffer(item.key(), item.value());
    for (auto const& item : cell_->named_children()) this->register_module(item.key(), item.value());
  }

  /// The outputs of all steps, and the last state.
  /// \param xs  [T, batch, features], or [batch, T, features] with `batch_first`; the outputs have the same order
  /// \param start  the initial state; by default zeros, in the type and on the device of xs, if the cell's options give
  ///   the size
  /// \throws invalid_call, and what `checkpointed_scan` throws
  [[nodiscard]] std::tuple<at::Tensor, State> forward(at::Tensor const& xs, std::optional<State> const& start = {}) {
    auto const along = lengthwise(xs);
    State const state = start ? *start : zero_state(along);
    auto [last, ys] = checkpointed_scan(step(), state, along, loop());
    if (along.size(0) == 0) ys = nothing(detail::tensors_of(state).front());
    return {options_.batch_first() ? ys.transpose(0, 1) : ys, std::move(last)};
  }

  /// What a forward over xs and its backward will take: `cairn::libtorch::estimate` of the scan.   \param xs, start  as
  /// for `forward`
  [[nodiscard]] LoopEstimate estimate(at::Tensor const& xs, std::optional<State> const& start = {}) {
    auto const along = lengthwise(xs);
    return cairn::libtorch::estimate(step(), start ? *start : zero_state(along), along, loop());
  }

  /// A copy with its own parameters, also made when a parent module is cloned. Its `cell()` is a copy of the cell.
  [[nodiscard]] std::shared_ptr<torch::nn::Module> clone(detail::device_choice const& device = {}) const override {
    return std::make_shared<CheckpointedCellImpl>(Cell{std::dynamic_pointer_cast<CellImpl>(cell_->clone(device))},
                                                  options_);
  }
  void reset() override {}  ///< does nothing: the cell has the parameters
  void train(bool on = true) override {  ///< also sets the cell's mode
    torch::nn::Module::train(on);
    cell_->train(on);
  }
  void pretty_print(std::ostream& stream) const override {  ///< prints its name and the cell's
    stream << "cairn::libtorch::CheckpointedCell(";
    cell_->pretty_print(stream);
    stream << ")";
  }
  [[nodiscard]] CheckpointedCellOptions const& options() const { return options_; }  ///< as given
  [[nodiscard]] Cell const& cell() const { return cell_; }  ///< as given
  /// How often the cell was measured for a memory limit; 0 if the options name the place where plans are kept.
  [[nodiscard]] std::int64_t plans_made() const { return plans_->made(); }

 private:
  static constexpr char const* who = "cairn::libtorch::CheckpointedCell";

  /// The sequence as [T, batch, features].
  [[nodiscard]] at::Tensor lengthwise(at::Tensor const& xs) const {
    auto const dimensions = xs.defined() ? xs.dim() : 0;
    if (dimensions < 2)
      throw invalid_call{who, "the input is not a sequence of vectors", {{"dimensions", dimensions}},
                         "give [T, batch, features], or [batch, T, features] with batch_first(true)"};
    return options_.batch_first() ? xs.transpose(0, 1) : xs;
  }
  struct step_of_cell {
    Cell cell;

    [[nodiscard]] std::pair<State, at::Tensor> operator()(State const& s, at::Tensor const& x) {
      State next = cell->forward(x, s);
      auto output = detail::tensors_of(next).front();
      return {std::move(next), std::move(output)};
    }
    [[nodiscard]] detail::plan_key identity() const { return detail::identity_of(cell); }
  };
  [[nodiscard]] step_of_cell step() const { return {cell_}; }
  [[nodiscard]] LoopOptions loop() const {
    auto options = options_.loop();
    options.module(*cell_);
    if (!options.plans()) options.plans(plans_);
    return options;
  }
  /// \param xs  [T, ...]
  [[nodiscard]] State zero_state(at::Tensor const& xs) const {
    if constexpr (requires { { cell_->options.hidden_size() } -> std::convertible_to<std::int64_t>; }) {
      auto sizes = xs.sizes().slice(1).vec();
      sizes.back() = cell_->options.hidden_size();
      tensor_list zeros(detail::tensors_of(State{}).size());
      for (auto& part : zeros) part = at::zeros(sizes, xs.options().requires_grad(false));
      return detail::state_of(State{}, zeros);
    } else {
      throw invalid_call{who, "the cell does not say how large its state is", {}, "give the initial state"};
    }
  }
  /// The outputs for no steps.
  [[nodiscard]] static at::Tensor nothing(at::Tensor const& output) {
    auto sizes = output.sizes().vec();
    sizes.insert(sizes.begin(), 0);
    return at::empty(sizes, output.options());
  }

  CheckpointedCellOptions options_;
  Cell cell_;
  std::shared_ptr<LoopPlans> plans_ = std::make_shared<LoopPlans>();
};

namespace detail {

/// The cell, or one that stands for a type that is refused, so that using it causes no second error.
template <class Cell>
struct checked_cell {
  static constexpr bool is_cell = recurrent_cell<Cell>;
  static_assert(is_cell,
                "cairn: the cell must be a module holder, such as torch::nn::LSTMCell, with forward(input, state) that "
                "returns the next state");
  using type = std::conditional_t<std::is_same_v<Cell, torch::nn::LSTM>, torch::nn::LSTMCell, torch::nn::GRUCell>;
};
template <recurrent_cell Cell>
struct checked_cell<Cell> { using type = Cell; };

}  // namespace detail

/// A module holder of `CheckpointedCellImpl`: `cairn::libtorch::CheckpointedCell rnn{torch::nn::LSTMCell(64, 256),
/// cairn::libtorch::CheckpointedCellOptions()...}`.
template <class Cell>
class CheckpointedCell
    : public torch::nn::ModuleHolder<CheckpointedCellImpl<typename detail::checked_cell<Cell>::type>> {
 public:
  using Impl = CheckpointedCellImpl<typename detail::checked_cell<Cell>::type>;  ///< the module

  /// \param cell  shared, not copied
  explicit CheckpointedCell(Cell cell, CheckpointedCellOptions const& options = {})
      : torch::nn::ModuleHolder<Impl>{nullptr} {
    if constexpr (detail::recurrent_cell<Cell>) this->impl_ = std::make_shared<Impl>(std::move(cell), options);
  }
  /// An empty holder, for a member that the constructor of its module fills.
  CheckpointedCell(std::nullptr_t) : torch::nn::ModuleHolder<Impl>{nullptr} {}
  /// A holder of an existing module, for example from `register_module`.
  CheckpointedCell(std::shared_ptr<Impl> module) : torch::nn::ModuleHolder<Impl>{std::move(module)} {}
};

}  // namespace cairn::libtorch
