// error: a loop over tensors is called with its options at the end, at least LoopOptions
// SPDX-License-Identifier: Apache-2.0
#include <torch/torch.h>
#include <cairn/adapt/torch.hpp>

auto const step = [](at::Tensor const& x, at::Tensor const& input) { return std::pair{x + input, x}; };
#ifdef CAIRN_FIXED
auto const run =
    cairn::libtorch::checkpointed_scan(step, at::ones(3), at::ones({10, 3}), cairn::libtorch::LoopOptions());
#else
auto const run = cairn::libtorch::checkpointed_scan(step, at::ones(3), at::ones({10, 3}));
#endif
