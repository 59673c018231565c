// error: a packed sequence cannot run under checkpoints here; give a padded tensor to forward
// SPDX-License-Identifier: Apache-2.0
#include <torch/torch.h>
#include <cairn/adapt/torch.hpp>

void use() {
  auto const xs = at::ones({3, 2, 5});
  cairn::libtorch::CheckpointedLSTM rnn(5, 4);
#ifdef CAIRN_FIXED
  auto const [out, state] = rnn->forward(xs);
  out.sum().backward();
#else
  auto const [out, state] =
      rnn->forward_with_packed_input(torch::nn::utils::rnn::pack_padded_sequence(xs, at::full(2, 3, at::kLong)));
  out.data().sum().backward();
#endif
  std::get<0>(state).sum().backward();
}
