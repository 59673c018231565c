// error: keep_going comes third, `keep_going\(x, i\)` or `keep_going\(x\)`, and must return bool
// SPDX-License-Identifier: Apache-2.0
#include <torch/torch.h>
#include <cairn/adapt/torch.hpp>

#ifdef CAIRN_FIXED
auto const run = cairn::libtorch::checkpointed_while([](at::Tensor const& x) { return x.tanh(); }, at::ones(3),
                                                     [](at::Tensor const& x) { return (x.sum() > 1).item<bool>(); },
                                                     cairn::libtorch::LoopOptions());
#else
auto const run = cairn::libtorch::checkpointed_while([](at::Tensor const& x) { return x.tanh(); }, at::ones(3),
                                                     [](at::Tensor const& x) { return x.sum() > 1; },
                                                     cairn::libtorch::LoopOptions());
#endif
