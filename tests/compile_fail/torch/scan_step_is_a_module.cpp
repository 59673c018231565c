// error: the step of a scan must be callable as `step\(x, input, i\)` or `step\(x, input\)`
// SPDX-License-Identifier: Apache-2.0
#include <torch/torch.h>
#include <cairn/adapt/torch.hpp>

#ifdef CAIRN_FIXED
struct mixer : torch::nn::Module {
  std::pair<at::Tensor, at::Tensor> forward(at::Tensor const& x, at::Tensor const& input) { return {x + input, x}; }
};
torch::nn::ModuleHolder<mixer> const step(std::make_shared<mixer>());
#else
torch::nn::Linear const step(3, 3);
#endif
auto const run =
    cairn::libtorch::checkpointed_scan(step, at::ones(3), at::ones({10, 3}), cairn::libtorch::LoopOptions());
