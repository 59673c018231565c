// error: a ModuleList does not know what its modules take; name their types, as in checkpoint_sequential<torch::nn::Linear>\(list, segments, x\)
// SPDX-License-Identifier: Apache-2.0
#include <torch/torch.h>
#include <cairn/adapt/torch.hpp>

torch::nn::ModuleList const list{torch::nn::Linear(3, 3), torch::nn::Linear(3, 3)};
#ifdef CAIRN_FIXED
auto const y = cairn::libtorch::checkpoint_sequential<torch::nn::Linear>(list, 2, at::ones({2, 3}));
#else
auto const y = cairn::libtorch::checkpoint_sequential(list, 2, at::ones({2, 3}));
#endif
