// error: the step of a scan must return a pair of the next state and of an output, both made of tensors
// SPDX-License-Identifier: Apache-2.0
#include <torch/torch.h>
#include <cairn/adapt/torch.hpp>

#ifdef CAIRN_FIXED
auto const run = cairn::libtorch::checkpointed_scan(
    [](at::Tensor const& x, at::Tensor const& input) {
      return std::pair{x + input, x};
    },
    at::ones(3), at::ones({10, 3}), cairn::libtorch::LoopOptions());
#else
auto const run =
    cairn::libtorch::checkpointed_scan([](at::Tensor const& x, at::Tensor const& input) { return x + input; },
                                       at::ones(3), at::ones({10, 3}), cairn::libtorch::LoopOptions());
#endif
