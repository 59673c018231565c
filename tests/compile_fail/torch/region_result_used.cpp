// error: the function must be callable with its inputs, or with the elements of a tuple of inputs
// SPDX-License-Identifier: Apache-2.0
#include <torch/torch.h>
#include <cairn/adapt/torch.hpp>

using both = std::tuple<at::Tensor, at::Tensor>;
void use() {
  auto const x = at::ones(3), z = at::ones(3);
  auto const f = [](at::Tensor const& a, at::Tensor const& b) { return both{a + b, a * b}; };
#ifdef CAIRN_FIXED
  auto const [sum, product] = cairn::libtorch::checkpoint(f, x, z);
#else
  auto const [sum, product] = cairn::libtorch::checkpoint(f, x);
#endif
  (sum + product).sum().backward();
}
