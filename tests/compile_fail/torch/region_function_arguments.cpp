// error: the function must be callable with its inputs, or with the elements of a tuple of inputs
// SPDX-License-Identifier: Apache-2.0
#include <torch/torch.h>
#include <cairn/adapt/torch.hpp>

auto const f = [](at::Tensor const& x) { return x.tanh(); };
#ifdef CAIRN_FIXED
auto const y = cairn::libtorch::checkpoint(f, at::ones(3));
#else
auto const y = cairn::libtorch::checkpoint(f, std::tuple{at::ones(3), at::ones(3)});
#endif
