// error: the step comes first, then the state, then keep_going, and the options last
// SPDX-License-Identifier: Apache-2.0
#include <torch/torch.h>
#include <cairn/adapt/torch.hpp>

auto const step = [](at::Tensor const& x) { return x.tanh(); };
auto const keep_going = [](at::Tensor const& x) { return x.sum().item<double>() > 1; };
void use() {
#ifdef CAIRN_FIXED
  auto const last = cairn::libtorch::checkpointed_while(step, at::ones(3), keep_going, cairn::libtorch::LoopOptions());
#else
  auto const last = cairn::libtorch::checkpointed_while(keep_going, step, at::ones(3), cairn::libtorch::LoopOptions());
#endif
  last.pow(2).sum().backward();
}
