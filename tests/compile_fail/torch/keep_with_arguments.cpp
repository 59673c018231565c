// error: keep takes a function without arguments that captures what it reads; a tensor has already been computed
// SPDX-License-Identifier: Apache-2.0
#include <torch/torch.h>
#include <cairn/adapt/torch.hpp>

at::Tensor f(at::Tensor const& x) {
#ifdef CAIRN_FIXED
  auto const [h, c] = cairn::libtorch::keep([&] { return std::pair{x.tanh(), x.cos()}; });
#else
  auto const [h, c] = cairn::libtorch::keep([](at::Tensor const& a) { return std::pair{a.tanh(), a.cos()}; });
#endif
  return h * c;
}
