// error: what is kept is a function without arguments; it captures what it reads, and a tensor has been computed already
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
