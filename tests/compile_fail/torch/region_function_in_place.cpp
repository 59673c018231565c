// error: the function must be callable with its inputs, or with the elements of a tuple of inputs
// SPDX-License-Identifier: Apache-2.0
#include <torch/torch.h>
#include <cairn/adapt/torch.hpp>

#ifdef CAIRN_FIXED
auto const y = cairn::libtorch::checkpoint([](at::Tensor const& x) { return x.tanh(); }, at::ones(3));
#else
auto const y = cairn::libtorch::checkpoint([](at::Tensor& x) { return x.tanh_(); }, at::ones(3));
#endif
