// error: the function must be callable with its inputs, or with the elements of a tuple of inputs
// SPDX-License-Identifier: Apache-2.0
#include <torch/torch.h>
#include <cairn/adapt/torch.hpp>

auto const f = [](at::Tensor const& x) { return x.tanh(); };
auto const once = cairn::libtorch::CheckpointOptions().early_stop(false);
#ifdef CAIRN_FIXED
auto const y = cairn::libtorch::checkpoint(f, at::ones(3), once);
#else
auto const y = cairn::libtorch::checkpoint(f, at::ones(3), at::ones(3), once);
#endif
