// error: the third argument must be a tensor \[T, ...\], a vector of T tensors, or a tuple of such
// SPDX-License-Identifier: Apache-2.0
#include <torch/torch.h>
#include <cairn/adapt/torch.hpp>

static_assert(!cairn::libtorch::tensor_sequence<int>);

#ifdef CAIRN_FIXED
auto const run = cairn::libtorch::checkpointed_scan(
    [](at::Tensor const& x, at::Tensor const& input) {
      return std::pair{x + input, x};
    },
    at::ones(3), std::vector{at::ones(3), at::ones(3)}, cairn::libtorch::LoopOptions());
#else
auto const run = cairn::libtorch::checkpointed_scan(
    [](at::Tensor const& x, at::Tensor const& input) {
      return std::pair{x + input, x};
    },
    at::ones(3), std::array{at::ones(3), at::ones(3)}, cairn::libtorch::LoopOptions());
#endif
