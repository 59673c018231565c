// error: the state must be a tensor, tuples, vectors or dictionaries of tensors
// SPDX-License-Identifier: Apache-2.0
#include <torch/torch.h>
#include <cairn/adapt/torch.hpp>

auto const keep_going = [](auto const&, cairn::step_index i) { return i < 3; };
auto const step = [](auto const& x) { return x; };
#ifdef CAIRN_FIXED
auto const run = cairn::libtorch::checkpointed_while(step, at::ones(3), keep_going, cairn::libtorch::LoopOptions());
#else
auto const run = cairn::libtorch::checkpointed_while(step, 1.0, keep_going, cairn::libtorch::LoopOptions());
#endif
