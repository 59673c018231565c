// error: the step of a scan must be callable as `step\(x, input, i\)` or `step\(x, input\)`
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
auto const run = cairn::libtorch::checkpointed_scan(
    [](at::Tensor const& x) {
      return std::pair{x, x};
    },
    at::ones(3), at::ones({10, 3}), cairn::libtorch::LoopOptions());
#endif
