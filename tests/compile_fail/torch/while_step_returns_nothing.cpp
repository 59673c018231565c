// error: the step must be callable as `x1 = step\(x, i\)` or `x1 = step\(x\)`, and return the state
// SPDX-License-Identifier: Apache-2.0
#include <torch/torch.h>
#include <cairn/adapt/torch.hpp>

auto const keep_going = [](at::Tensor const& x) { return x.sum().item<double>() > 1; };
#ifdef CAIRN_FIXED
auto const run = cairn::libtorch::checkpointed_while(
    [](at::Tensor const& x) { return x.tanh(); }, at::ones(3), keep_going, cairn::libtorch::LoopOptions());
#else
auto const run = cairn::libtorch::checkpointed_while(
    [](at::Tensor& x) { x.tanh_(); }, at::ones(3), keep_going, cairn::libtorch::LoopOptions());
#endif
