// error: the state must be a tensor, tuples, vectors or dictionaries of tensors
// SPDX-License-Identifier: Apache-2.0
#include <torch/torch.h>
#include <cairn/adapt/torch.hpp>

#ifdef CAIRN_FIXED
using wave = std::pair<at::Tensor, at::Tensor>;
#else
struct wave {
  at::Tensor first, second;
};
#endif
auto const step = [](wave const& x) { return wave{x.first + x.second, x.first}; };
auto const run =
    cairn::libtorch::checkpointed_loop(step, wave{at::ones(3), at::ones(3)}, 10, cairn::libtorch::LoopOptions());
