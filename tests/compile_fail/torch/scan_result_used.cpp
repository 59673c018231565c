// error: the step of a scan must return a pair of the next state and of an output, both made of tensors
// SPDX-License-Identifier: Apache-2.0
#include <torch/torch.h>
#include <cairn/adapt/torch.hpp>

using of_three = std::tuple<at::Tensor, at::Tensor, at::Tensor>;
static_assert(!cairn::libtorch::detail::scan_result<of_three, at::Tensor>);
static_assert(!cairn::libtorch::detail::scan_result<std::pair<at::Tensor, double>, at::Tensor>);
void use() {
  auto const xs = at::ones({10, 3});
#ifdef CAIRN_FIXED
  auto const step = [](at::Tensor const& h, at::Tensor const& x) { return std::pair{h + x, x}; };
#else
  auto const step = [](at::Tensor const& h, at::Tensor const& x) { return h + x; };
#endif
  auto const [last, ys] = cairn::libtorch::checkpointed_scan(step, at::ones(3), xs, cairn::libtorch::LoopOptions());
  (last.sum() + ys.sum()).backward();
  auto const listed = cairn::libtorch::checkpointed_scan(
      [](at::Tensor const& h, at::Tensor const& x) {
        return std::pair{h + x, x};
      },
      at::ones(3), xs.unbind(0), cairn::libtorch::LoopOptions());
  for (auto const& y : listed.second) y.sum().backward();
}
