// error: keep_going comes third, `keep_going\(x, i\)` or `keep_going\(x\)`, and must return bool
// SPDX-License-Identifier: Apache-2.0
#include <torch/torch.h>
#include <cairn/adapt/torch.hpp>

auto const step = [](at::Tensor const& x) { return x.tanh(); };
auto const keep_going = [](at::Tensor const& x) { return x.sum().item<double>() > 1; };
#ifdef CAIRN_FIXED
auto const run = cairn::libtorch::checkpointed_while(step, at::ones(3), keep_going, cairn::libtorch::LoopOptions());
#else
auto const run = cairn::libtorch::checkpointed_while(keep_going, at::ones(3), step, cairn::libtorch::LoopOptions());
#endif
