// error: what is kept must be a tensor, tuples, vectors or dictionaries of tensors, or a type with cairn::libtorch::tensor_traits
// SPDX-License-Identifier: Apache-2.0
#include <torch/torch.h>
#include <cairn/adapt/torch.hpp>

at::Tensor f(at::Tensor const& x) {
#ifdef CAIRN_FIXED
  auto const h = cairn::libtorch::keep([&] { return x.mm(x).sum(); });
#else
  auto const h = cairn::libtorch::keep([&] { return x.mm(x).sum().item<double>(); });
#endif
  return x * h;
}
