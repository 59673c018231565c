// error: the function must be callable with its inputs, or with the elements of a tuple of inputs
// SPDX-License-Identifier: Apache-2.0
#include <torch/torch.h>
#include <cairn/adapt/torch.hpp>

void use(std::vector<at::Tensor> const& xs) {
#ifdef CAIRN_FIXED
  auto const ys = cairn::libtorch::checkpoint([](std::vector<at::Tensor> const& all) { return all; }, xs);
#else
  auto const ys = cairn::libtorch::checkpoint([](std::vector<at::Tensor>& all) { all.front().tanh_(); }, xs);
#endif
  for (auto const& y : ys) y.sum().backward();
}
