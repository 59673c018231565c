// error: the step must be callable as `x1 = step\(x, i\)` or `x1 = step\(x\)`, and return the state
// SPDX-License-Identifier: Apache-2.0
#include <torch/torch.h>
#include <cairn/adapt/torch.hpp>

#ifdef CAIRN_FIXED
torch::nn::Linear const step(3, 3);
#else
torch::nn::Bilinear const step(3, 3, 3);
#endif
auto const run = cairn::libtorch::checkpointed_loop(step, at::ones(3), 10, cairn::libtorch::LoopOptions());
