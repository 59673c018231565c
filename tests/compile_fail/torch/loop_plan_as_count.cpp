// error: the third argument must be the number of steps; a schedule goes into LoopOptions
// SPDX-License-Identifier: Apache-2.0
#include <torch/torch.h>
#include <cairn/adapt/torch.hpp>

auto const step = [](at::Tensor const& x) { return x.tanh(); };
at::Tensor const x0 = at::ones(3);
cairn::revolve const plan{10, 3};
#ifdef CAIRN_FIXED
auto const run = cairn::libtorch::checkpointed_loop(step, x0, 10, cairn::libtorch::LoopOptions().schedule(plan));
#else
auto const run = cairn::libtorch::checkpointed_loop(step, x0, plan, cairn::libtorch::LoopOptions());
#endif
