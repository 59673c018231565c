// error: the step must be callable as `x1 = step\(x, i\)` or `x1 = step\(x\)`, and return the state
// SPDX-License-Identifier: Apache-2.0
#include <torch/torch.h>
#include <cairn/adapt/torch.hpp>

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
