// error: a tensor is seen by an Eigen::Map; name one
// SPDX-License-Identifier: Apache-2.0
#include <torch/torch.h>
#include <cairn/adapt/torch.hpp>
#include <cairn/adapt/torch/compat.hpp>
#include <Eigen/Core>

#ifdef CAIRN_FIXED
auto const t = cairn::libtorch::eigen_map<Eigen::Map<Eigen::VectorXf>>(at::ones(3));
#else
auto const t = cairn::libtorch::eigen_map<Eigen::VectorXf>(at::ones(3));
#endif
