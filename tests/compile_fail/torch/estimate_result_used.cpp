// error: the third argument must be the number of steps, or the inputs of a scan
// SPDX-License-Identifier: Apache-2.0
#include <torch/torch.h>
#include <cairn/adapt/torch.hpp>

bool use() {
  auto const step = [](at::Tensor const& x) { return x.tanh(); };
#ifdef CAIRN_FIXED
  auto const e = cairn::libtorch::estimate(step, at::ones(3), 10, cairn::libtorch::LoopOptions());
#else
  auto const e = cairn::libtorch::estimate(step, at::ones(3), cairn::revolve(10, 3), cairn::libtorch::LoopOptions());
#endif
  return e.fits() && e.peak_bytes > 0 && !e.table().empty();
}
