// error: tensors cannot hold the numbers of this map
// SPDX-License-Identifier: Apache-2.0
#include <torch/torch.h>
#include <cairn/adapt/torch.hpp>
#include <cairn/adapt/torch/compat.hpp>
#include <Eigen/Core>

#ifdef CAIRN_FIXED
auto const t = cairn::libtorch::eigen_map<Eigen::Map<Eigen::VectorXd>>(at::ones(3, at::kDouble));
#else
auto const t = cairn::libtorch::eigen_map<Eigen::Map<Eigen::Matrix<long double, -1, 1>>>(at::ones(3));
#endif
