// SPDX-License-Identifier: Apache-2.0
#include <Eigen/Core>
#include <unsupported/Eigen/CXX11/Tensor>
#include <cairn/adapt/eigen.hpp>

#include "array_type.hpp"

namespace {
using tensor = Eigen::Tensor<double, 3>;
}
template <>
struct cairn::state_traits<tensor> : cairn::flat<tensor> {};

TEST_CASE("array types of Eigen", "[arrays]") {
  auto const at = [](auto& x, std::size_t k) -> auto& { return x.data()[k]; };
  check_array_type<Eigen::VectorXd>([] { return Eigen::VectorXd(1'000); }, at, 1'000);
  check_array_type<Eigen::MatrixXd>([] { return Eigen::MatrixXd(20, 50); }, at, 1'000);
  check_array_type<Eigen::ArrayXXd>([] { return Eigen::ArrayXXd(20, 50); }, at, 1'000);
  check_array_type<Eigen::Matrix<double, 10, 10>>([] { return Eigen::Matrix<double, 10, 10>(); }, at, 100);
  check_array_type<tensor>([] { return tensor(10, 10, 10); }, at, 1'000);
}
