// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file lstm.hpp  A character LSTM (Hochreiter & Schmidhuber 1997, with the forget gate of Gers et al. 2000)
/// with a softmax over the next character, and its adjoint written by hand.
///
/// Every column of a matrix is one stream of text, so one step reads one character of each stream.

#include <cmath>
#include <cstddef>
#include <random>
#include <tuple>
#include <vector>

#include <Eigen/Core>

#include "text.hpp"

namespace demo {

template <class Scalar>
using matrix = Eigen::Matrix<Scalar, Eigen::Dynamic, Eigen::Dynamic>;
template <class Scalar>
using vector = Eigen::Matrix<Scalar, Eigen::Dynamic, 1>;

/// What Eigen asks of the heap for a matrix of `size` numbers: where malloc aligns too little for the vector unit,
/// Eigen takes more and aligns by itself.
template <class Scalar>
[[nodiscard]] constexpr std::size_t heap_bytes(Eigen::Index size) {
  return std::size_t(size) * sizeof(Scalar) + (EIGEN_MALLOC_ALREADY_ALIGNED ? 0 : EIGEN_DEFAULT_ALIGN_BYTES);
}

/// Hidden and cell values of all streams: what one step passes to the next.
template <class Scalar>
using lstm_state = std::tuple<matrix<Scalar>, matrix<Scalar>>;

/// All weights, or their gradient, in one vector: an optimiser and a comparison of bits need no more structure.
template <class Scalar>
class parameters {
 public:
  parameters(Eigen::Index hidden, Eigen::Index symbols)
      : hidden_{hidden},
        symbols_{symbols},
        all_{vector<Scalar>::Zero(4 * hidden * (symbols + hidden) + symbols * (hidden + 1))} {}

  [[nodiscard]] Eigen::Index hidden() const noexcept { return hidden_; }
  [[nodiscard]] Eigen::Index symbols() const noexcept { return symbols_; }
  [[nodiscard]] vector<Scalar>& all() noexcept { return all_; }
  [[nodiscard]] vector<Scalar> const& all() const noexcept { return all_; }

  /// 4H x V. Exactly one input is on at a time, so its column holds the bias of the gates as well.
  [[nodiscard]] auto input() { return part(all_, 0, 4 * hidden_, symbols_); }
  [[nodiscard]] auto input() const { return part(all_, 0, 4 * hidden_, symbols_); }
  /// 4H x H.
  [[nodiscard]] auto recurrent() { return part(all_, 4 * hidden_ * symbols_, 4 * hidden_, hidden_); }
  [[nodiscard]] auto recurrent() const { return part(all_, 4 * hidden_ * symbols_, 4 * hidden_, hidden_); }
  /// V x H.
  [[nodiscard]] auto output() { return part(all_, 4 * hidden_ * (symbols_ + hidden_), symbols_, hidden_); }
  [[nodiscard]] auto output() const { return part(all_, 4 * hidden_ * (symbols_ + hidden_), symbols_, hidden_); }
  /// V x 1.
  [[nodiscard]] auto output_bias() { return all_.tail(symbols_); }
  [[nodiscard]] auto output_bias() const { return all_.tail(symbols_); }

  /// For cairn, of a gradient in a file.
  template <class Fn>
  void visit_numbers(Fn& f) { f(all_.data(), std::size_t(all_.size())); }
  template <class Sink>
  void write_state(Sink& sink) const { sink(all_.data(), std::size_t(all_.size()) * sizeof(Scalar)); }
  template <class Source>
  void read_state(Source& source) { source(all_.data(), std::size_t(all_.size()) * sizeof(Scalar)); }

 private:
  static auto part(vector<Scalar>& all, Eigen::Index at, Eigen::Index rows, Eigen::Index columns) {
    return Eigen::Map<matrix<Scalar>>{all.data() + at, rows, columns};
  }
  static auto part(vector<Scalar> const& all, Eigen::Index at, Eigen::Index rows, Eigen::Index columns) {
    return Eigen::Map<matrix<Scalar> const>{all.data() + at, rows, columns};
  }

  Eigen::Index hidden_, symbols_;
  vector<Scalar> all_;
};

/// Weights to start from; the same on every machine, because only the generator of the standard library is used,
/// not its distributions. Large input weights make the first hidden values depend on the last few characters.
template <class Scalar>
[[nodiscard]] parameters<Scalar> random_weights(Eigen::Index hidden, Eigen::Index symbols) {
  parameters<Scalar> weights{hidden, symbols};
  std::mt19937 generator{1};
  for (auto& weight : weights.all()) weight = Scalar(generator() >> 8) / Scalar(1 << 23) - 1;  // exact in [-1, 1)
  weights.input() *= 2;
  weights.recurrent() *= Scalar(0.5) / std::sqrt(Scalar(hidden));
  weights.output() *= Scalar(0.05);
  weights.output_bias().setZero();
  return weights;
}

/// Mean over all characters of -log p(next character), in nats, and its gradient.
template <class Scalar>
struct objective {
  parameters<Scalar> gradient;
  double loss = 0;

  void clear() {
    gradient.all().setZero();
    loss = 0;
  }
};

/// What one step keeps for its adjoint.
template <class Scalar>
struct activations {
  activations(Eigen::Index size, Eigen::Index streams)
      : gates(4 * size, streams), cell(size, streams), tanh_cell(size, streams), hidden(size, streams) {}
  /// Of one that is made with these arguments, heap included.
  [[nodiscard]] static std::size_t bytes(Eigen::Index size, Eigen::Index streams) {
    return sizeof(activations) + heap_bytes<Scalar>(4 * size * streams) + 3 * heap_bytes<Scalar>(size * streams);
  }

  matrix<Scalar> gates;                    ///< input, forget, output gate and candidate, below each other
  matrix<Scalar> cell, tanh_cell, hidden;  ///< of the state that the step leads to
};

/// The forward step: `to` gets everything that is computed from the state (hidden, cell) and the characters of step i.
/// The executor's step and the adjoint's recording both call this, so both give the same bits.
template <class Scalar>
void lstm_forward(parameters<Scalar> const& weights, streams const& text, std::int64_t i, matrix<Scalar> const& hidden,
                  matrix<Scalar> const& cell, activations<Scalar>& to) {
  auto const h = hidden.rows();
  auto const input = weights.input();
  for (Eigen::Index b = 0; b < hidden.cols(); ++b) to.gates.col(b) = input.col(text.input(i, b));
  to.gates.noalias() += weights.recurrent() * hidden;
  to.gates.topRows(3 * h) = to.gates.topRows(3 * h).array().logistic();
  to.gates.bottomRows(h) = to.gates.bottomRows(h).array().tanh();
  auto const in = to.gates.topRows(h).array(), forget = to.gates.middleRows(h, h).array();
  auto const out = to.gates.middleRows(2 * h, h).array(), candidate = to.gates.bottomRows(h).array();
  to.cell = forget * cell.array() + in * candidate;
  to.tanh_cell = to.cell.array().tanh();
  to.hidden = out * to.tanh_cell.array();
}

/// `step(x, x1, i)` for cairn. Allocates nothing after it is made.
template <class Scalar>
class lstm_step {
 public:
  lstm_step(parameters<Scalar> const& weights, streams const& text)
      : weights_{&weights}, text_{&text}, made_{weights.hidden(), text.count()} {}

  void operator()(lstm_state<Scalar> const& x, lstm_state<Scalar>& x1, std::int64_t i) {
    lstm_forward(*weights_, *text_, i, std::get<0>(x), std::get<1>(x), made_);
    std::get<0>(x1) = made_.hidden;
    std::get<1>(x1) = made_.cell;
  }
  [[nodiscard]] static std::size_t bytes(Eigen::Index hidden, Eigen::Index streams) {
    return sizeof(lstm_step) - sizeof(activations<Scalar>) + activations<Scalar>::bytes(hidden, streams);
  }

 private:
  parameters<Scalar> const* weights_;
  streams const* text_;
  activations<Scalar> made_;
};

/// `adjoint(x, bar, first, last)` for cairn: records steps [first, last) on its tape, then reverses them one by one.
/// Adds to the loss and to the gradient of the weights, which outlive a sweep and are no part of the state.
template <class Scalar>
class lstm_adjoint {
 public:
  /// \param total  what the loss and its gradient are added to   \param leaf  the most steps that one call may reverse,
  /// >= 1
  lstm_adjoint(parameters<Scalar> const& weights, streams const& text, objective<Scalar>& total, std::int64_t leaf)
      : weights_{&weights},
        text_{&text},
        total_{&total},
        gates_bar_(4 * weights.hidden(), text.count()),
        scores_(weights.symbols(), text.count()),
        row_(text.count()) {
    tape_.reserve(std::size_t(leaf));
    for (std::int64_t k = 0; k < leaf; ++k) tape_.emplace_back(weights.hidden(), text.count());
  }

  void operator()(lstm_state<Scalar> const& x, lstm_state<Scalar>& bar, std::int64_t first, std::int64_t last) {
    auto const& [hidden, cell] = x;
    for (auto i = first; i < last; ++i) {
      auto const k = std::size_t(i - first);
      lstm_forward(*weights_, *text_, i, k == 0 ? hidden : tape_[k - 1].hidden, k == 0 ? cell : tape_[k - 1].cell,
                   tape_[k]);
    }
    for (auto i = last; i-- > first;) {
      auto const k = std::size_t(i - first);
      reverse(k == 0 ? hidden : tape_[k - 1].hidden, k == 0 ? cell : tape_[k - 1].cell, tape_[k], bar, i);
    }
  }
  [[nodiscard]] static std::size_t bytes(Eigen::Index hidden, Eigen::Index symbols, Eigen::Index streams,
                                         std::int64_t leaf) {
    return sizeof(lstm_adjoint) + std::size_t(leaf) * activations<Scalar>::bytes(hidden, streams) +
           heap_bytes<Scalar>(4 * hidden * streams) + heap_bytes<Scalar>(symbols * streams) +
           heap_bytes<Scalar>(streams);
  }

 private:
  void reverse(matrix<Scalar> const& hidden, matrix<Scalar> const& cell, activations<Scalar> const& made,
               lstm_state<Scalar>& bar, std::int64_t i) {
    auto const h = hidden.rows();
    auto& [hidden_bar, cell_bar] = bar;
    auto& gradient = total_->gradient;

    scores_.noalias() = weights_->output() * made.hidden;
    scores_.colwise() += weights_->output_bias();
    score(i);
    hidden_bar.noalias() += weights_->output().transpose() * scores_;
    gradient.output().noalias() += scores_ * made.hidden.transpose();
    gradient.output_bias() += scores_.rowwise().sum();

    auto const in = made.gates.topRows(h).array(), forget = made.gates.middleRows(h, h).array();
    auto const out = made.gates.middleRows(2 * h, h).array(), candidate = made.gates.bottomRows(h).array();
    auto const tanh_cell = made.tanh_cell.array();
    cell_bar.array() += hidden_bar.array() * out * (1 - tanh_cell.square());
    gates_bar_.topRows(h) = cell_bar.array() * candidate * in * (1 - in);
    gates_bar_.middleRows(h, h) = cell_bar.array() * cell.array() * forget * (1 - forget);
    gates_bar_.middleRows(2 * h, h) = hidden_bar.array() * tanh_cell * out * (1 - out);
    gates_bar_.bottomRows(h) = cell_bar.array() * in * (1 - candidate.square());
    cell_bar.array() *= forget;
    hidden_bar.noalias() = weights_->recurrent().transpose() * gates_bar_;

    gradient.recurrent().noalias() += gates_bar_ * hidden.transpose();
    auto input_bar = gradient.input();
    for (Eigen::Index b = 0; b < hidden.cols(); ++b) input_bar.col(text_->input(i, b)) += gates_bar_.col(b);
  }

  /// Adds the loss of step i and turns the scores of each column into the adjoint of the scores: softmax - target.
  void score(std::int64_t i) {
    auto const scale = 1 / double(text_->characters());
    row_ = scores_.colwise().maxCoeff();
    scores_.rowwise() -= row_;
    for (Eigen::Index b = 0; b < scores_.cols(); ++b) row_[b] = scores_(text_->target(i, b), b);
    total_->loss -= double(row_.sum()) * scale;
    scores_ = scores_.array().exp();
    row_ = scores_.colwise().sum();
    total_->loss += double(row_.array().log().sum()) * scale;
    row_ = Scalar(scale) / row_.array();
    scores_.array().rowwise() *= row_.array();
    for (Eigen::Index b = 0; b < scores_.cols(); ++b) scores_(text_->target(i, b), b) -= Scalar(scale);
  }

  parameters<Scalar> const* weights_;
  streams const* text_;
  objective<Scalar>* total_;
  std::vector<activations<Scalar>> tape_;
  matrix<Scalar> gates_bar_, scores_;
  Eigen::Matrix<Scalar, 1, Eigen::Dynamic> row_;
};

}  // namespace demo
