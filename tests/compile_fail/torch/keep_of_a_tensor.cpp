// error: what is kept is a function without arguments; it captures what it reads, and a tensor has been computed already
// SPDX-License-Identifier: Apache-2.0
#include <torch/torch.h>
#include <cairn/adapt/torch.hpp>

auto const f = [](at::Tensor const& x) {
#ifdef CAIRN_FIXED
  return cairn::libtorch::keep("product", [&] { return torch::mm(x, x); }).sin();
#else
  return cairn::libtorch::keep("product", torch::mm(x, x));
#endif
};
