// error: keep_going comes third, `keep_going\(x, i\)` or `keep_going\(x\)`, and must return bool
// SPDX-License-Identifier: Apache-2.0
#include <torch/torch.h>
#include <cairn/adapt/torch.hpp>

void use() {
#ifdef CAIRN_FIXED
  auto const goes_on = [](at::Tensor const& x) { return (x.sum() > 1).item<bool>(); };
#else
  auto const goes_on = [](at::Tensor const& x) { return x.sum() > 1; };
#endif
  auto const last = cairn::libtorch::checkpointed_while(
      [](at::Tensor const& x) { return x.tanh(); }, at::ones(3), goes_on, cairn::libtorch::LoopOptions());
  last.pow(2).sum().backward();
}
