// error: the state must be a tensor, tuples, vectors or dictionaries of tensors
// SPDX-License-Identifier: Apache-2.0
#include <torch/torch.h>
#include <cairn/adapt/torch.hpp>

#ifdef CAIRN_FIXED
auto const run = cairn::libtorch::checkpointed_loop([](at::Tensor const& x) { return x * 2; }, at::ones(1), 10,
                                                    cairn::libtorch::LoopOptions());
#else
auto const run =
    cairn::libtorch::checkpointed_loop([](double x) { return x * 2; }, 1.0, 10, cairn::libtorch::LoopOptions());
#endif
