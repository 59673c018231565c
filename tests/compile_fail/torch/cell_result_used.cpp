// error: the cell must be a module holder, such as torch::nn::LSTMCell, with forward\(input, state\) that returns the next state
// SPDX-License-Identifier: Apache-2.0
#include <torch/torch.h>
#include <cairn/adapt/torch.hpp>

using namespace torch::nn;
static_assert(!cairn::libtorch::detail::recurrent_cell<RNNCellImpl>);  // no holder
static_assert(!cairn::libtorch::detail::recurrent_cell<Linear> && !cairn::libtorch::detail::recurrent_cell<LSTM>);
void use() {
#ifdef CAIRN_FIXED
  cairn::libtorch::CheckpointedCell rnn{torch::nn::GRUCell(3, 4), cairn::libtorch::CheckpointedCellOptions()};
#else
  cairn::libtorch::CheckpointedCell rnn{torch::nn::GRU(3, 4), cairn::libtorch::CheckpointedCellOptions()};
#endif
  auto const xs = at::ones({5, 2, 3});
  auto const [ys, last] = rnn->forward(xs);
  (ys.sum() + last.sum()).backward();
  if (rnn->estimate(xs).fits()) rnn->zero_grad();
}
