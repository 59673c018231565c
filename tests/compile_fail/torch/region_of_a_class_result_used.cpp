// error: the inputs must be tensors, tuples, vectors, dictionaries or optionals of tensors
// SPDX-License-Identifier: Apache-2.0
#include <torch/torch.h>
#include <cairn/adapt/torch.hpp>

struct settings { int power = 3; };
static_assert(!cairn::libtorch::detail::region_argument<std::tuple<at::Tensor, int>>);
void use() {
#ifdef CAIRN_FIXED
  auto const y =
      cairn::libtorch::checkpoint([](auto const& x, int power) { return x.pow(power); }, at::ones(3), settings{}.power);
#else
  auto const y =
      cairn::libtorch::checkpoint([](auto const& x, auto const& s) { return x.pow(s.power); }, at::ones(3), settings{});
#endif
  y.sum().backward();
}
