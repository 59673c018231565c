// error: include <cairn/adapt/torch.hpp> and call cairn::libtorch::checkpointed_loop
// SPDX-License-Identifier: Apache-2.0
#include <torch/torch.h>
#include <cairn/adapt/torch.hpp>
#include <cairn/cairn.hpp>

auto const step = [](at::Tensor const& x) { return x.tanh(); };
at::Tensor x0 = at::ones(3);
#ifdef CAIRN_FIXED
auto const run = cairn::libtorch::checkpointed_loop(step, x0, 10, cairn::libtorch::LoopOptions());
#else
auto const run = cairn::checkpointed_loop(step, x0, 10);
#endif
