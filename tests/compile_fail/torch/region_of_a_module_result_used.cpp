// error: the function is a module itself, which would be copied; give its holder
// SPDX-License-Identifier: Apache-2.0
#include <torch/torch.h>
#include <cairn/adapt/torch.hpp>

void use() {
#ifdef CAIRN_FIXED
  auto const [out, state] =
      cairn::libtorch::checkpoint(torch::nn::GRU(3, 4), at::ones({5, 2, 3}), at::zeros({1, 2, 4}));
#else
  auto const [out, state] =
      cairn::libtorch::checkpoint(torch::nn::GRUImpl(3, 4), at::ones({5, 2, 3}), at::zeros({1, 2, 4}));
#endif
  (out.sum() + state.sum()).backward();
}
