// error: the cell must be a module holder, such as torch::nn::LSTMCell, with forward\(input, state\) that returns the next state
// SPDX-License-Identifier: Apache-2.0
#include <torch/torch.h>
#include <cairn/adapt/torch.hpp>

#ifdef CAIRN_FIXED
cairn::libtorch::CheckpointedCell rnn{torch::nn::LSTMCell(3, 4), cairn::libtorch::CheckpointedCellOptions()};
#else
cairn::libtorch::CheckpointedCell rnn{torch::nn::LSTM(3, 4), cairn::libtorch::CheckpointedCellOptions()};
#endif
