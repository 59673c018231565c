// error: the function must be callable with its inputs, or with the elements of a tuple of inputs
// SPDX-License-Identifier: Apache-2.0
#include <torch/torch.h>
#include <cairn/adapt/torch.hpp>

void use() {
  torch::nn::Bilinear layer(3, 3, 4);
  auto const x = at::ones({2, 3});
#ifdef CAIRN_FIXED
  auto const y = cairn::libtorch::checkpoint(layer, x, x);
#else
  auto const y = cairn::libtorch::checkpoint(layer, x);
#endif
  y.sum().backward();
}
