// error: a packed sequence cannot run under checkpoints here; give a padded tensor to forward
// SPDX-License-Identifier: Apache-2.0
#include <torch/torch.h>
#include <cairn/adapt/torch.hpp>

auto const xs = at::ones({3, 2, 5});
#ifdef CAIRN_FIXED
auto const y = cairn::libtorch::CheckpointedLSTM(5, 4)->forward(xs);
#else
auto const y = cairn::libtorch::CheckpointedLSTM(5, 4) -> forward_with_packed_input(
                   torch::nn::utils::rnn::pack_padded_sequence(xs, at::full(2, 3, at::kLong)));
#endif
