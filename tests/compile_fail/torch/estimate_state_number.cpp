// error: the state must be a tensor, tuples, vectors or dictionaries of tensors
// SPDX-License-Identifier: Apache-2.0
#include <torch/torch.h>
#include <cairn/adapt/torch.hpp>

auto const step = [](at::Tensor const& x) { return x.tanh(); };
#ifdef CAIRN_FIXED
auto const sum = cairn::libtorch::estimate(step, at::ones(3), 10, cairn::libtorch::LoopOptions());
#else
auto const sum = cairn::libtorch::estimate(step, 1.0, 10, cairn::libtorch::LoopOptions());
#endif
