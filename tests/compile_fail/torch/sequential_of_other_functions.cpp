// error: the list must be of modules or functions that take a tensor and return one
// SPDX-License-Identifier: Apache-2.0
#include <torch/torch.h>
#include <cairn/adapt/torch.hpp>

#ifdef CAIRN_FIXED
std::vector<std::function<at::Tensor(at::Tensor const&)>> const list(3, [](at::Tensor const& x) { return x.sin(); });
#else
std::vector<std::function<double(at::Tensor const&)>> const list(3, [](at::Tensor const& x) {
  return x.sin().sum().item<double>();
});
#endif
auto const y = cairn::libtorch::checkpoint_sequential(list, 2, at::ones({2, 3}));
