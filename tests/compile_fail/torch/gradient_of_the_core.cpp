// error: include <cairn/adapt/torch.hpp> and call cairn::libtorch::checkpointed_loop
// SPDX-License-Identifier: Apache-2.0
#include <torch/torch.h>
#include <cairn/adapt/torch.hpp>
#include <cairn/cairn.hpp>

auto const step = [](at::Tensor const& x) { return x.tanh(); };
at::Tensor const x0 = at::ones(3);
#ifdef CAIRN_FIXED
auto const run = cairn::libtorch::checkpointed_loop(step, x0, cairn::step_index(10), cairn::libtorch::LoopOptions());
#else
auto const run = cairn::gradient(step, x0, 10, at::ones(3),
                                 [](at::Tensor const&, at::Tensor const& bar, cairn::step_index) { return bar; });
#endif
