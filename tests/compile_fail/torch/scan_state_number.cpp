// error: the state must be a tensor, tuples, vectors or dictionaries of tensors
// SPDX-License-Identifier: Apache-2.0
#include <torch/torch.h>
#include <cairn/adapt/torch.hpp>

auto const step = [](auto const& x, at::Tensor const& input) { return std::pair{x, input}; };
#ifdef CAIRN_FIXED
auto const run =
    cairn::libtorch::checkpointed_scan(step, at::ones(3), at::ones({10, 3}), cairn::libtorch::LoopOptions());
#else
auto const run = cairn::libtorch::checkpointed_scan(step, 1, at::ones({10, 3}), cairn::libtorch::LoopOptions());
#endif
