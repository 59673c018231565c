// error: a tensor can view Eigen matrices, arrays, maps, refs and blocks of numbers that tensors can hold
// SPDX-License-Identifier: Apache-2.0
#include <torch/torch.h>
#include <cairn/adapt/torch.hpp>
#include <cairn/adapt/torch/compat.hpp>
#include <Eigen/Core>

static_assert(!cairn::libtorch::tensor_state<Eigen::MatrixXf>);  // a loop takes what to_tensor gives
static_assert(!cairn::libtorch::detail::dense_matrix<Eigen::Matrix<long double, 2, 3>>);
Eigen::MatrixXf m(2, 3);
#ifdef CAIRN_FIXED
auto const t = cairn::libtorch::to_tensor((2 * m).eval());
#else
auto const t = cairn::libtorch::to_tensor(2 * m);
#endif
