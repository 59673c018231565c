// error: the step must be callable as `x1 = step\(x, i\)` or `x1 = step\(x\)`, and return the state
// SPDX-License-Identifier: Apache-2.0
#include <torch/torch.h>
#include <cairn/adapt/torch.hpp>

#ifdef CAIRN_FIXED
auto const run = cairn::libtorch::checkpointed_loop([](at::Tensor const& x) { return x.tanh(); }, at::ones(3), 10,
                                                    cairn::libtorch::LoopOptions());
#else
auto const run = cairn::libtorch::checkpointed_loop([](at::Tensor const& x) { return x.sum().item<double>(); },
                                                    at::ones(3), 10, cairn::libtorch::LoopOptions());
#endif
