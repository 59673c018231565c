// error: keep_going comes first, `keep_going\(x, i\)` or `keep_going\(x\)`, and must return bool
// SPDX-License-Identifier: Apache-2.0
#include <torch/torch.h>
#include <cairn/adapt/torch.hpp>

#ifdef CAIRN_FIXED
auto const run = cairn::libtorch::checkpointed_while([](at::Tensor const& x) { return (x.sum() > 1).item<bool>(); },
                                                     [](at::Tensor const& x) { return x.tanh(); }, at::ones(3),
                                                     cairn::libtorch::LoopOptions());
#else
auto const run = cairn::libtorch::checkpointed_while([](at::Tensor const& x) { return x.sum() > 1; },
                                                     [](at::Tensor const& x) { return x.tanh(); }, at::ones(3),
                                                     cairn::libtorch::LoopOptions());
#endif
