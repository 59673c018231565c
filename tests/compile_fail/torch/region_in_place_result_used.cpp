// error: the function must be callable with its inputs, or with the elements of a tuple of inputs
// SPDX-License-Identifier: Apache-2.0
#include <torch/torch.h>
#include <cairn/adapt/torch.hpp>

namespace own = cairn::libtorch::detail;
using one = decltype([](at::Tensor const& x) { return x.tanh(); });
static_assert(!own::calls_with<one, at::Tensor, at::Tensor>);
static_assert(!own::takes_elements<one, std::tuple<at::Tensor, at::Tensor>>);
static_assert(!own::calls_with<decltype([](at::Tensor& x) { return x.tanh_(); }), at::Tensor>);
static_assert(!own::calls_with<torch::nn::Bilinear, at::Tensor>);
// What is refused has the result that the function names, whatever it is given.
using both = std::tuple<at::Tensor, at::Tensor>;
using gives_both = decltype([](at::Tensor const& a, at::Tensor const& b) { return both{a + b, a * b}; });
static_assert(std::is_same_v<own::refused_region<gives_both, at::Tensor>, both>);
void use(std::vector<at::Tensor> const& xs) {
#ifdef CAIRN_FIXED
  auto const ys = cairn::libtorch::checkpoint([](std::vector<at::Tensor> const& all) { return all; }, xs);
#else
  auto const ys = cairn::libtorch::checkpoint([](std::vector<at::Tensor>& all) { all.front().tanh_(); }, xs);
#endif
  for (auto const& y : ys) y.sum().backward();
}
