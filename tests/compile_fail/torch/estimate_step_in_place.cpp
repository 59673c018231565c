// error: the step must be callable as `x1 = step\(x, i\)` or `x1 = step\(x\)`, and return the state
// SPDX-License-Identifier: Apache-2.0
#include <torch/torch.h>
#include <cairn/adapt/torch.hpp>

#ifdef CAIRN_FIXED
auto const sum = cairn::libtorch::estimate([](at::Tensor const& x) { return x.tanh(); }, at::ones(3), 10,
                                           cairn::libtorch::LoopOptions());
#else
auto const sum =
    cairn::libtorch::estimate([](at::Tensor& x) { x.tanh_(); }, at::ones(3), 10, cairn::libtorch::LoopOptions());
#endif
