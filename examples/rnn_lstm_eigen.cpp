// SPDX-License-Identifier: Apache-2.0
// Two loops from a Python checkpointing guide, an RNN and an LSTM of 1,000 steps, in C++: the loop gives back its final
// state and a map from positions to the states it kept. 31 of them, about the square root of 1,000, when only the
// length is given.

#include <cstdio>
#include <cstdlib>
#include <tuple>
#include <utility>
#include <vector>

#include <Eigen/Core>
#include <cairn/cairn.hpp>
#include <cairn/planning.hpp>

using Eigen::MatrixXd;
using Eigen::VectorXd;

using lstm_state = std::tuple<VectorXd, VectorXd>;  // hidden and cell

// isApprox: a compiler may round the same step differently in two loops (fused multiply-add).
bool same(VectorXd const& a, VectorXd const& b) { return a.isApprox(b); }
bool same(lstm_state const& a, lstm_state const& b) {
  return same(std::get<0>(a), std::get<0>(b)) && same(std::get<1>(a), std::get<1>(b));
}

/// Whether the loop ends in the state of a loop that keeps all of them, and each checkpoint is the state it says it is.
template <class State, class Step>
bool agrees(Step step, State const& x0, State const& final_state, auto const& checkpoints, cairn::step_index n) {
  std::vector<State> all{x0};
  for (cairn::step_index i = 0; i < n; ++i) all.push_back(step(all.back()));
  bool good = same(final_state, all.back());
  for (auto const [position, state] : checkpoints) good = good && same(state, all[std::size_t(position)]);
  return good;
}

int main() {
  cairn::step_index const sequence_length = 1'000;
  Eigen::Index const hidden_size = 128;
  std::srand(1);

  // RNN: one vector
  MatrixXd const W = MatrixXd::Random(hidden_size, hidden_size) * 0.1;
  VectorXd const b = VectorXd::Random(hidden_size) * 0.01;
  auto const rnn_step = [&](VectorXd const& state) -> VectorXd { return (W * state + b).array().tanh(); };
  VectorXd const initial_state = VectorXd::Zero(hidden_size);

  auto const [final_state, checkpoints] = cairn::checkpointed_loop(rnn_step, initial_state, sequence_length);
  std::printf("RNN: stored %zu checkpoints, %.1f %% of the memory saved\n", checkpoints.size(),
              cairn::get_memory_savings(sequence_length).savings_percent);

  // LSTM: a tuple of two vectors
  auto const gate = [&] {
    return std::pair<MatrixXd, VectorXd>{MatrixXd::Random(hidden_size, hidden_size) * 0.1,
                                         VectorXd::Random(hidden_size)};
  };
  auto const in = gate(), forget = gate(), out = gate(), candidate = gate();
  auto const lstm_step = [&](lstm_state const& state) -> lstm_state {
    auto const& [h, c] = state;
    auto const sum = [&h = h](auto const& g) -> VectorXd { return g.first * h + g.second; };
    VectorXd const i = sum(in).array().logistic(), f = sum(forget).array().logistic(), o = sum(out).array().logistic();
    VectorXd const g = sum(candidate).array().tanh();
    VectorXd const c_new = f.array() * c.array() + i.array() * g.array();
    VectorXd const h_new = o.array() * c_new.array().tanh();
    return {h_new, c_new};
  };
  lstm_state const zero{VectorXd::Zero(hidden_size), VectorXd::Zero(hidden_size)};

  auto const [lstm_final, lstm_checkpoints] = cairn::checkpointed_loop(lstm_step, zero, sequence_length);
  std::printf("LSTM: stored %zu checkpoints, |h| = %.12g\n", lstm_checkpoints.size(), std::get<0>(lstm_final).norm());

  bool const good = checkpoints.size() == 31 &&
                    agrees<VectorXd>(rnn_step, initial_state, final_state, checkpoints, sequence_length) &&
                    lstm_checkpoints.size() == 31 &&
                    agrees<lstm_state>(lstm_step, zero, lstm_final, lstm_checkpoints, sequence_length);
  return good ? 0 : 1;
}
