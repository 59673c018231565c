// error: the matrix would be destroyed before the tensor; move it with cairn::libtorch::to_tensor
// SPDX-License-Identifier: Apache-2.0
#include <torch/torch.h>
#include <cairn/adapt/torch.hpp>
#include <cairn/adapt/torch/compat.hpp>
#include <Eigen/Core>

Eigen::MatrixXf m(2, 3);
#ifdef CAIRN_FIXED
auto const t = cairn::libtorch::to_tensor(Eigen::MatrixXf(2 * m));
#else
auto const t = cairn::libtorch::tensor_view(Eigen::MatrixXf(2 * m));
#endif
