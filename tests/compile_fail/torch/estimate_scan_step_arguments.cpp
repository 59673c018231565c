// error: the step of a scan must be callable as `step\(x, input, i\)` or `step\(x, input\)`
// SPDX-License-Identifier: Apache-2.0
#include <torch/torch.h>
#include <cairn/adapt/torch.hpp>

auto const step = [](at::Tensor const& x) { return x.tanh(); };
static_assert(!cairn::libtorch::detail::calls_scan_step<torch::nn::Linear const, at::Tensor, at::Tensor>);
#ifdef CAIRN_FIXED
auto const sum = cairn::libtorch::estimate(step, at::ones(3), 10, cairn::libtorch::LoopOptions());
#else
auto const sum = cairn::libtorch::estimate(step, at::ones(3), at::ones({10, 3}), cairn::libtorch::LoopOptions());
#endif
