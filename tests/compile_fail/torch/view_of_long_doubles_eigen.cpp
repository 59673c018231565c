// late error: a tensor can view Eigen matrices, arrays, maps, refs and blocks of numbers that tensors can hold
// SPDX-License-Identifier: Apache-2.0
#include <torch/torch.h>
#include <cairn/adapt/torch.hpp>
#include <cairn/adapt/torch/compat.hpp>
#include <Eigen/Core>

#ifdef CAIRN_FIXED
Eigen::MatrixXd m(2, 3);
auto const t = cairn::libtorch::tensor_view(m);
#else
Eigen::Matrix<long double, 2, 3> m;
auto const t = cairn::libtorch::tensor_view(m);
#endif
