// error: the state must be a tensor, tuples, vectors or dictionaries of tensors
// SPDX-License-Identifier: Apache-2.0
#include <torch/torch.h>
#include <cairn/adapt/torch.hpp>
#include <cairn/adapt/torch/compat.hpp>
#include <Eigen/Core>

auto const step = [](auto const& x) { return x; };
Eigen::MatrixXf x0(2, 2);
#ifdef CAIRN_FIXED
auto const run =
    cairn::libtorch::checkpointed_loop(step, cairn::libtorch::to_tensor(x0), 10, cairn::libtorch::LoopOptions());
#else
auto const run = cairn::libtorch::checkpointed_loop(step, x0, 10, cairn::libtorch::LoopOptions());
#endif
