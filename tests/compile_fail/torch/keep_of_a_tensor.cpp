// error: keep takes a function without arguments that captures what it reads; a tensor has already been computed
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
