// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file checkpointed_rnn.hpp  torch::nn::LSTM, GRU and RNN under checkpoints, as modules with the same shapes and
/// names.
#include <bit>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <numeric>
#include <ostream>
#include <sstream>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>
#include <ATen/Functions.h>
#include <ATen/core/Tensor.h>
#include <torch/nn/module.h>
#include <torch/nn/modules/rnn.h>
#include <torch/nn/pimpl.h>
#include <torch/nn/utils/rnn.h>
#include <cairn/adapt/torch/loop/detail/loop_probe.hpp>
#include <cairn/adapt/torch/loop/loop_estimate.hpp>
#include <cairn/adapt/torch/loop/loop_options.hpp>
#include <cairn/adapt/torch/loop/loop_plan.hpp>
#include <cairn/adapt/torch/loop/scan.hpp>
#include <cairn/adapt/torch/state/detail/versions.hpp>
#include <cairn/adapt/torch/state/tensor_state.hpp>
#include <cairn/core/bytes.hpp>
#include <cairn/core/error.hpp>
#include <cairn/door/detail/refused.hpp>

namespace cairn::libtorch {
namespace detail {

/// The weights of one layer in one direction; undefined if the layer has none.
struct recurrent_weights {
  at::Tensor ih, hh, bias_ih, bias_hh, projection;
};

/// The state of such a layer, and its step. `next` takes the state's tensors, the output first, and returns the next
/// ones, by the kernel of the cell module.
template <class Layer>
class recurrent_step {
  static constexpr bool is_lstm = std::is_same_v<Layer, torch::nn::LSTMImpl>,
                        is_gru = std::is_same_v<Layer, torch::nn::GRUImpl>;

 public:
  static constexpr char const* who = is_lstm  ? "cairn::libtorch::CheckpointedLSTM"
                                     : is_gru ? "cairn::libtorch::CheckpointedGRU"
                                              : "cairn::libtorch::CheckpointedRNN";
  static constexpr std::size_t parts = is_lstm ? 2 : 1;

  explicit recurrent_step([[maybe_unused]] Layer const& layer) {
    if constexpr (!is_lstm && !is_gru)  // get_if is found in std or c10, depending on LibTorch
      relu_ = get_if<torch::enumtype::kReLU>(&layer.options.nonlinearity()) != nullptr;
  }
  [[nodiscard]] tensor_list next(at::Tensor const& x, at::TensorList state, recurrent_weights const& w) const {
    if constexpr (is_gru) return {at::gru_cell(x, state[0], w.ih, w.hh, w.bias_ih, w.bias_hh)};
    else if constexpr (!is_lstm)
      return {relu_ ? at::rnn_relu_cell(x, state[0], w.ih, w.hh, w.bias_ih, w.bias_hh)
                    : at::rnn_tanh_cell(x, state[0], w.ih, w.hh, w.bias_ih, w.bias_hh)};
    else if (!w.projection.defined()) {
      auto const [h, c] = at::lstm_cell(x, state, w.ih, w.hh, w.bias_ih, w.bias_hh);
      return {h, c};
    } else {  // at::lstm_cell does not support projections
      auto const gates = (at::linear(x, w.ih, w.bias_ih) + at::linear(state[0], w.hh, w.bias_hh)).chunk(4, 1);
      auto const c = at::sigmoid(gates[1]) * state[1] + at::sigmoid(gates[0]) * at::tanh(gates[2]);
      return {at::linear(at::sigmoid(gates[3]) * at::tanh(c), w.projection), c};
    }
  }

 private:
  bool relu_ = false;
};

/// The initial state that a layer's forward takes, and the last state that it returns.
template <class Layer, class Result, class Start>
std::pair<Start, std::tuple_element_t<1, Result>> recurrent_types(Result (Layer::*)(at::Tensor const&, Start));
template <class Layer>
using recurrent_start = typename decltype(recurrent_types(&Layer::forward))::first_type;
template <class Layer>
using recurrent_state = typename decltype(recurrent_types(&Layer::forward))::second_type;

}  // namespace detail

/// A `torch::nn::LSTM`, `GRU` or `RNN` that runs by `checkpointed_scan`. It has their options, shapes and parameter
/// names, so that either can load what the other saved. See `CheckpointedLSTM`, `CheckpointedGRU` and
/// `CheckpointedRNN`. Bits are those of a plain loop over the cells; nn::LSTM multiplies all inputs by their weights at
/// once, and so rounds differently.
///
/// Layers of one direction run together, in one scan, and nothing between the layers is kept. In a bidirectional module
/// each layer and direction is a scan of its own; the outputs between layers are then kept until backward, outside a
/// memory limit, of which each scan gets an equal part. Dropout between layers draws one mask per step. Packed
/// sequences are refused.
/// \tparam Layer  `torch::nn::LSTMImpl`, `GRUImpl` or `RNNImpl`
template <class Layer>
class CheckpointedLayersImpl : public Layer {
 public:
  using Options = decltype(Layer::options);  ///< `torch::nn::LSTMOptions` ...
  using Start = detail::recurrent_start<Layer>;  ///< an initial state, or none
  using State = detail::recurrent_state<Layer>;  ///< (h, c) for an LSTM, otherwise h

  /// One layer, one direction.
  CheckpointedLayersImpl(std::int64_t input_size, std::int64_t hidden_size) : Layer(input_size, hidden_size) {}
  /// \param of  sizes, layers, directions ...   \param loop  options of the loops over the sequence; the weights need
  ///   not be named
  explicit CheckpointedLayersImpl(Options const& of, LoopOptions loop = {}) : Layer(of), loop_{std::move(loop)} {}
  /// \param of  the module whose parameters it shares
  explicit CheckpointedLayersImpl(torch::nn::ModuleHolder<Layer> const& of, LoopOptions loop = {})
      : Layer(*of), loop_{std::move(loop)} {
    torch::nn::Module::operator=(*of);  // a virtual base in LibTorch 1, not initialised by Layer's constructor
  }

  /// The outputs of the last layer, and the last states of all layers.
  /// \param xs  [T, batch, input_size], or [batch, T, input_size] with `batch_first`; the outputs have the same order
  /// \param start  h, or (h, c) for an LSTM, each [layers * directions, batch, size]; by default zeros
  /// \throws invalid_call, and what `checkpointed_scan` throws
  [[nodiscard]] std::tuple<at::Tensor, State> forward(at::Tensor const& xs, Start start = {}) {
    auto ys = lengthwise(xs);
    auto const states = initial_states(start, ys);
    auto const count = layers(), ways = directions(), together = ways == 1 ? count : 1;
    std::vector<tensor_list> last(states.size());
    for (std::size_t layer = 0; layer < count; layer += together) {
      tensor_list outputs;
      for (std::size_t way = 0; way < ways; ++way) {
        std::vector<std::size_t> places;
        for (std::size_t k = layer; k < layer + together; ++k) places.push_back(k * ways + way);
        outputs.push_back(run(places, states, way == 0 ? ys : ys.flip(0), last));
        if (way == 1) outputs.back() = outputs.back().flip(0);
      }
      ys = ways == 1 ? outputs.front() : at::cat(outputs, 2);
      if (layer + together < count) ys = dropped(ys, this->options.dropout(), this->is_training());
    }
    return {this->options.batch_first() ? ys.transpose(0, 1) : ys, stacked(last)};
  }
  /// What a forward over xs and its backward will take, as `cairn::libtorch::estimate` of a scan; `caller_bytes` has
  /// the last states, too. Cost: the first steps, forward and backward.
  /// \param xs, start  as for `forward`
  /// \throws as `forward`, and `invalid_call` if a profiler of LibTorch is on in this thread, or for two directions
  [[nodiscard]] LoopEstimate estimate(at::Tensor const& xs, Start start = {}) {
    if (directions() > 1)
      throw invalid_call{step::who, "only modules of one direction are estimated: others are two loops a layer", {},
                         "read what it takes from LoopOptions().stats(report)"};
    auto const along = lengthwise(xs);
    auto const states = initial_states(start, along);
    std::vector<std::size_t> places(layers());
    std::iota(places.begin(), places.end(), std::size_t{0});
    auto sum = cairn::libtorch::estimate(step_of(places), states, along, loop_of(places, 1));
    if (sum.forward > 0) sum.caller_bytes += detail::bytes_of_all(detail::tensors_of(states));
    return sum;
  }
  /// Refused with one message: sequences of different lengths.
  template <class... Arguments>
  auto forward_with_packed_input(Arguments const&...) {
    constexpr bool is_padded = sizeof...(Arguments) > 1000;
    static_assert(is_padded,
                  "cairn: a packed sequence cannot run under checkpoints here; give a padded tensor to forward");
    return cairn::detail::refuse<std::tuple<torch::nn::utils::rnn::PackedSequence, State>>();
  }

  /// A copy with its own parameters, also made when a parent module is cloned; in that case the loop's options are
  /// those that the parent's reset() sets.
  [[nodiscard]] std::shared_ptr<torch::nn::Module> clone(detail::device_choice const& device = {}) const override {
    return std::make_shared<CheckpointedLayersImpl>(
        torch::nn::ModuleHolder<Layer>{std::dynamic_pointer_cast<Layer>(Layer::clone(device))}, loop_);
  }
  void pretty_print(std::ostream& stream) const override {  ///< prints its name and the options that the plain module
                                                            ///< prints
    std::ostringstream text;
    Layer::pretty_print(text);
    stream << step::who << text.str().substr(text.str().find('('));
  }
  [[nodiscard]] LoopOptions const& loop() const { return loop_; }  ///< as given
  /// How often layers were measured for a memory limit, each direction of a bidirectional layer separately; 0 if the
  /// options name the place where plans are kept.
  [[nodiscard]] std::int64_t plans_made() const { return plans_->made(); }

 private:
  using step = detail::recurrent_step<Layer>;

  struct step_of_layers {
    step cell;
    std::vector<detail::recurrent_weights> weights;
    double share;  ///< probability of dropout between the layers
    detail::plan_key of;

    [[nodiscard]] std::pair<std::vector<tensor_list>, at::Tensor> operator()(std::vector<tensor_list> const& before,
                                                                             at::Tensor const& x) const {
      std::vector<tensor_list> next;
      auto input = x;
      for (std::size_t k = 0; k < weights.size(); ++k) {
        if (k > 0) input = dropped(input, share, true);
        next.push_back(cell.next(input, before[k], weights[k]));
        input = next.back().front();
      }
      return {std::move(next), std::move(input)};
    }
    [[nodiscard]] detail::plan_key const& identity() const { return of; }
  };

  [[nodiscard]] std::size_t layers() const { return std::size_t(this->options.num_layers()); }
  [[nodiscard]] std::size_t directions() const { return this->options.bidirectional() ? 2 : 1; }
  [[nodiscard]] static at::Tensor dropped(at::Tensor const& x, double share, bool training) {
    return share > 0 && training ? at::dropout(x, share, true) : x;
  }
  /// The sizes of the parts of a layer's state, that of the output first.
  [[nodiscard]] std::vector<std::int64_t> part_sizes() const {
    auto const& base = this->options_base;
    std::vector<std::int64_t> sizes(step::parts, base.hidden_size());
    if (base.proj_size() > 0) sizes.front() = base.proj_size();
    return sizes;
  }

  /// The sequence as [T, batch, input_size].
  [[nodiscard]] at::Tensor lengthwise(at::Tensor const& xs) const {
    auto const dimensions = xs.defined() ? xs.dim() : 0;
    if (dimensions != 3)
      throw invalid_call{step::who, "the input is not a sequence of vectors", {{"dimensions", dimensions}},
                         "give [T, batch, features], or [batch, T, features] with batch_first(true)"};
    if (xs.size(2) != this->options.input_size())
      throw invalid_call{step::who,
                         "the input has a different number of features from the module",
                         {{"features", xs.size(2)}, {"input_size", this->options.input_size()}},
                         "give [T, batch, features], or [batch, T, features] with batch_first(true)"};
    return this->options.batch_first() ? xs.transpose(0, 1) : xs;
  }
  /// The initial state of each layer and direction.
  [[nodiscard]] std::vector<tensor_list> initial_states(Start const& start, at::Tensor const& xs) const {
    auto const count = std::int64_t(layers() * directions()), batch = xs.size(1);
    std::vector<tensor_list> states{std::size_t(count)};
    tensor_list given;
    if constexpr (std::is_same_v<Start, at::Tensor>) {
      if (start.defined()) given = {start};
    } else if (start) {
      given = detail::tensors_of(*start);
    }
    auto const sizes = part_sizes();
    for (std::size_t part = 0; part < sizes.size(); ++part) {
      if (given.empty()) {
        for (auto& one : states) one.push_back(at::zeros({batch, sizes[part]}, xs.options().requires_grad(false)));
        continue;
      }
      auto const& all = given[part];
      if (!all.defined() || all.sizes() != at::IntArrayRef{count, batch, sizes[part]})
        throw invalid_call{step::who,
                           "a part of the initial state is not [layers * directions, batch, size]",
                           {{"part", part}, {"layers * directions", count}, {"batch", batch}, {"size", sizes[part]}},
                           "leave it out to begin at zero"};
      auto const rows = all.unbind(0);
      for (std::size_t k = 0; k < states.size(); ++k) states[k].push_back(rows[k]);
    }
    return states;
  }
  [[nodiscard]] detail::recurrent_weights weights_of(std::size_t place) const {
    auto const each = this->flat_weights_.size() / (layers() * directions());
    auto const at = [&](std::size_t k) { return this->flat_weights_[place * each + k]; };
    auto const& base = this->options_base;
    detail::recurrent_weights w{at(0), at(1), {}, {}, {}};
    if (base.bias()) {
      w.bias_ih = at(2);
      w.bias_hh = at(3);
    }
    if (base.proj_size() > 0) w.projection = at(each - 1);
    return w;
  }
  /// The options for a scan of the layers at some places.   \param scans  number of scans in the module
  [[nodiscard]] LoopOptions loop_of(std::vector<std::size_t> const& places, std::size_t scans) const {
    auto how = detail::with_process_limit(loop_);
    if (!how.plans()) how.plans(plans_);
    auto captures = how.captures();
    for (auto const place : places) {
      auto const w = weights_of(place);
      for (auto const& one : {w.ih, w.hh, w.bias_ih, w.bias_hh, w.projection})
        if (one.defined()) captures.push_back(one);
    }
    how.captures(std::move(captures));
    if (auto const limit = how.memory_limit()) how.memory_limit(byte_size{limit->count() / std::uint64_t(scans)});
    else if (how.has_memory_limit()) how.memory_limit(how.memory_share() / double(scans));
    return how;
  }
  /// The step of the layers at some places together.
  [[nodiscard]] step_of_layers step_of(std::vector<std::size_t> const& places) const {
    std::vector<detail::recurrent_weights> weights;
    for (auto const place : places) weights.push_back(weights_of(place));
    double const share = this->is_training() ? this->options.dropout() : 0;
    detail::plan_key of;
    of.add_whole(*this);
    for (auto const place : places) of.add(place);
    of.add(std::bit_cast<std::int64_t>(share));
    return {step{*this}, std::move(weights), share, std::move(of)};
  }
  /// Runs the layers at some places together, and stores their last states.
  [[nodiscard]] at::Tensor run(std::vector<std::size_t> const& places, std::vector<tensor_list> const& states,
                               at::Tensor const& xs, std::vector<tensor_list>& last) const {
    std::vector<tensor_list> state;
    for (auto const place : places) state.push_back(states[place]);
    auto scan_options = loop_of(places, states.size() / places.size());
    auto [last_states, ys] = checkpointed_scan(step_of(places), state, xs, std::move(scan_options));
    if (xs.size(0) == 0) ys = at::empty({0, xs.size(1), part_sizes().front()}, xs.options().requires_grad(false));
    for (std::size_t k = 0; k < places.size(); ++k) last[places[k]] = last_states[k];
    return ys;
  }
  /// The last states in the form of `forward`.
  [[nodiscard]] static State stacked(std::vector<tensor_list> const& last) {
    tensor_list parts;
    for (std::size_t part = 0; part < step::parts; ++part) {
      tensor_list rows;
      for (auto const& one : last) rows.push_back(one[part]);
      parts.push_back(at::stack(rows));
    }
    return detail::state_of(State{}, parts);
  }

  LoopOptions loop_;
  std::shared_ptr<LoopPlans> plans_ = std::make_shared<LoopPlans>(64);  ///< a scan of each layer and direction
};

using CheckpointedLSTMImpl = CheckpointedLayersImpl<torch::nn::LSTMImpl>;  ///< the module inside a `CheckpointedLSTM`
using CheckpointedGRUImpl = CheckpointedLayersImpl<torch::nn::GRUImpl>;    ///< the module inside a `CheckpointedGRU`
using CheckpointedRNNImpl = CheckpointedLayersImpl<torch::nn::RNNImpl>;    ///< the module inside a `CheckpointedRNN`
/// Replaces a `torch::nn::LSTM`: `cairn::libtorch::CheckpointedLSTM rnn{torch::nn::LSTMOptions(64,
/// 256).num_layers(2)}`.
TORCH_MODULE(CheckpointedLSTM);
/// Replaces a `torch::nn::GRU`.
TORCH_MODULE(CheckpointedGRU);
/// Replaces a `torch::nn::RNN`.
TORCH_MODULE(CheckpointedRNN);

}  // namespace cairn::libtorch
