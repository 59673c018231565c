// error: the third argument must be the number of steps
// SPDX-License-Identifier: Apache-2.0
#include <torch/torch.h>
#include <cairn/adapt/torch.hpp>

auto const step = [](at::Tensor const& x) { return x.tanh(); };
at::Tensor const x0 = at::ones(3);
#ifdef CAIRN_FIXED
auto const run = cairn::libtorch::checkpointed_loop(step, x0, 10, cairn::libtorch::LoopOptions());
#else
auto const run = cairn::libtorch::checkpointed_loop(step, x0, 10.0, cairn::libtorch::LoopOptions());
#endif
