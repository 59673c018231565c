// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file recurrent_step.hpp  One step of one layer of torch::nn::LSTM, GRU and RNN.
#include <cstddef>
#include <tuple>
#include <ATen/core/Tensor.h>
#include <ATen/ops/gru_cell.h>
#include <ATen/ops/linear.h>
#include <ATen/ops/lstm_cell.h>
#include <ATen/ops/rnn_relu_cell.h>
#include <ATen/ops/rnn_tanh_cell.h>
#include <ATen/ops/sigmoid.h>
#include <ATen/ops/tanh.h>
#include <torch/nn/modules/rnn.h>
#include <cairn/adapt/torch/state/tensor_state.hpp>

namespace cairn::libtorch::detail {

/// The weights of one layer in one direction; undefined if the layer has none.
struct recurrent_weights {
  at::Tensor ih, hh, bias_ih, bias_hh, projection;
};

/// The state of such a layer, and its step. `next` takes the state's tensors, the output first, and returns the next
/// ones, by the kernel of the cell module.
template <class Layer>
struct recurrent_step;

template <>
struct recurrent_step<torch::nn::LSTMImpl> {
  static constexpr char const* who = "cairn::libtorch::CheckpointedLSTM";
  static constexpr std::size_t parts = 2;
  explicit recurrent_step(torch::nn::LSTMImpl const&) {}
  [[nodiscard]] tensor_list next(at::Tensor const& x, at::TensorList state, recurrent_weights const& w) const {
    if (!w.projection.defined()) {
      auto const [h, c] = at::lstm_cell(x, state, w.ih, w.hh, w.bias_ih, w.bias_hh);
      return {h, c};
    }
    // at::lstm_cell does not support projections.
    auto const gates = (at::linear(x, w.ih, w.bias_ih) + at::linear(state[0], w.hh, w.bias_hh)).chunk(4, 1);
    auto const c = at::sigmoid(gates[1]) * state[1] + at::sigmoid(gates[0]) * at::tanh(gates[2]);
    return {at::linear(at::sigmoid(gates[3]) * at::tanh(c), w.projection), c};
  }
};
template <>
struct recurrent_step<torch::nn::GRUImpl> {
  static constexpr char const* who = "cairn::libtorch::CheckpointedGRU";
  static constexpr std::size_t parts = 1;
  explicit recurrent_step(torch::nn::GRUImpl const&) {}
  [[nodiscard]] tensor_list next(at::Tensor const& x, at::TensorList state, recurrent_weights const& w) const {
    return {at::gru_cell(x, state[0], w.ih, w.hh, w.bias_ih, w.bias_hh)};
  }
};
template <>
struct recurrent_step<torch::nn::RNNImpl> {
  static constexpr char const* who = "cairn::libtorch::CheckpointedRNN";
  static constexpr std::size_t parts = 1;
  explicit recurrent_step(torch::nn::RNNImpl const& layer)
      : relu_{get_if<torch::enumtype::kReLU>(&layer.options.nonlinearity()) != nullptr} {
  }  // found by argument lookup in std or c10, depending on LibTorch
  [[nodiscard]] tensor_list next(at::Tensor const& x, at::TensorList state, recurrent_weights const& w) const {
    if (relu_) return {at::rnn_relu_cell(x, state[0], w.ih, w.hh, w.bias_ih, w.bias_hh)};
    return {at::rnn_tanh_cell(x, state[0], w.ih, w.hh, w.bias_ih, w.bias_hh)};
  }

 private:
  bool relu_;
};

}  // namespace cairn::libtorch::detail
