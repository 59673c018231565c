// error: a loop over tensors is called with its options at the end, at least LoopOptions
// SPDX-License-Identifier: Apache-2.0
#include <torch/torch.h>
#include <cairn/adapt/torch.hpp>

auto const keep_going = [](at::Tensor const& x) { return x.sum().item<double>() > 1; };
auto const step = [](at::Tensor const& x) { return x.tanh(); };
#ifdef CAIRN_FIXED
auto const run = cairn::libtorch::checkpointed_while(step, at::ones(3), keep_going, cairn::libtorch::LoopOptions());
#else
auto const run = cairn::libtorch::checkpointed_while(step, at::ones(3), keep_going);
#endif
