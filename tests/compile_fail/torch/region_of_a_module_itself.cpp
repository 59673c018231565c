// error: the function is a module itself, which would be copied; give its holder
// SPDX-License-Identifier: Apache-2.0
#include <torch/torch.h>
#include <cairn/adapt/torch.hpp>

#ifdef CAIRN_FIXED
auto const y = cairn::libtorch::checkpoint(torch::nn::Linear(3, 3), at::ones({2, 3}));
#else
auto const y = cairn::libtorch::checkpoint(torch::nn::LinearImpl(3, 3), at::ones({2, 3}));
#endif
