// error: the state must be a tensor, tuples, vectors or dictionaries of tensors
// SPDX-License-Identifier: Apache-2.0
#include <torch/torch.h>
#include <cairn/adapt/torch.hpp>

struct wave {
  at::Tensor first, second;
};
static_assert(!cairn::libtorch::tensor_state<wave>);
static_assert(!cairn::libtorch::tensor_state<double> && !cairn::libtorch::tensor_state<at::Scalar>);
auto const step = [](auto const& x) { return x; };
#ifdef CAIRN_FIXED
auto const run =
    cairn::libtorch::checkpointed_loop(step, std::pair{at::ones(3), at::ones(1)}, 10, cairn::libtorch::LoopOptions());
#else
auto const run =
    cairn::libtorch::checkpointed_loop(step, std::pair{at::ones(3), 1}, 10, cairn::libtorch::LoopOptions());
#endif
