// error: the unpack function must take what the pack function returns, and return the tensor
// SPDX-License-Identifier: Apache-2.0
#include <torch/torch.h>
#include <cairn/adapt/torch.hpp>

auto const sum_of = [](at::Tensor const& t) { return t.sum().item<double>(); };
#ifdef CAIRN_FIXED
cairn::libtorch::saved_tensors_hooks const hooks{sum_of, [](double sum) { return at::full({}, sum); }};
#else
cairn::libtorch::saved_tensors_hooks const hooks{sum_of, [](at::Tensor const& t) { return t; }};
#endif
