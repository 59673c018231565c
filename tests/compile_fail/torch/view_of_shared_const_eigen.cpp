// error: a tensor over const numbers could be written to; copy them with cairn::libtorch::to_tensor
// SPDX-License-Identifier: Apache-2.0
#include <torch/torch.h>
#include <cairn/adapt/torch.hpp>
#include <cairn/adapt/torch/compat.hpp>
#include <Eigen/Core>

#ifdef CAIRN_FIXED
auto const t = cairn::libtorch::tensor_view(std::make_shared<Eigen::MatrixXd>(2, 3));
#else
auto const t = cairn::libtorch::tensor_view(std::make_shared<Eigen::MatrixXd const>(2, 3));
#endif
