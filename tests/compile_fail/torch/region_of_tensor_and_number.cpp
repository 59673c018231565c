// error: the inputs must be tensors, tuples, vectors, dictionaries or optionals of tensors
// SPDX-License-Identifier: Apache-2.0
#include <torch/torch.h>
#include <cairn/adapt/torch.hpp>

auto const f = [](at::Tensor const& x, int n) { return x.pow(n); };
#ifdef CAIRN_FIXED
auto const y = cairn::libtorch::checkpoint(f, at::ones(3), 3);
#else
auto const y = cairn::libtorch::checkpoint(f, std::tuple{at::ones(3), 3});
#endif
