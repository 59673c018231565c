// error: a tensor can view Eigen matrices, arrays, maps, refs and blocks of numbers that tensors can hold
// SPDX-License-Identifier: Apache-2.0
#include <torch/torch.h>
#include <cairn/adapt/torch.hpp>
#include <cairn/adapt/torch/compat.hpp>

#ifdef CAIRN_FIXED
auto const t = at::ones(3);
#else
auto const t = cairn::libtorch::tensor_view(std::make_shared<std::vector<float>>(3));
#endif
