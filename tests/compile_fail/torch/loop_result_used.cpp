// error: the step must be callable as `x1 = step\(x, i\)` or `x1 = step\(x\)`, and return the state
// SPDX-License-Identifier: Apache-2.0
#include <torch/torch.h>
#include <cairn/adapt/torch.hpp>

template <class F>
constexpr bool is_step = cairn::libtorch::detail::tensor_step<F, at::Tensor>;
static_assert(is_step<decltype([](at::Tensor const& x) { return x.tanh(); })>);
static_assert(!is_step<decltype([](at::Tensor& x) { return x.tanh(); })>);
static_assert(!is_step<decltype([](at::Tensor const& x, at::Tensor const&) { return x; })>);
static_assert(!is_step<decltype([](at::Tensor const& x) { (void)x.tanh(); })>);
static_assert(!is_step<decltype([](at::Tensor const& x) { return x.sum().item<double>(); })>);
static_assert(!is_step<decltype([](at::Tensor const& x) { return std::tuple{x, x}; })>);
static_assert(!is_step<torch::nn::Bilinear const>);
using state = std::tuple<at::Tensor, at::Tensor>;
state const start{at::ones(3), at::ones(3)};
void use() {
#ifdef CAIRN_FIXED
  auto const last =
      cairn::libtorch::checkpointed_loop([](state const& s) { return s; }, start, 10, cairn::libtorch::LoopOptions());
#else
  auto const last = cairn::libtorch::checkpointed_loop([](state& s) { std::get<0>(s).tanh_(); }, start, 10,
                                                       cairn::libtorch::LoopOptions());
#endif
  auto const& [h, c] = last;
  (h.sum() + c.sum()).backward();
}
