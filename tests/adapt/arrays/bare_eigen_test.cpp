// SPDX-License-Identifier: Apache-2.0
// Eigen without its adapter: copies are right, and what the core does not know it refuses.
#include <Eigen/Core>

#include "array_type.hpp"

TEST_CASE("Eigen without its adapter", "[arrays]") {
  auto const at = [](auto& x, std::size_t k) -> auto& { return x.data()[k]; };
  constexpr unsigned known = all & ~(written | shape);
  check_array_type<Eigen::VectorXd, known>([] { return Eigen::VectorXd(1'000); }, at, 1'000);
  check_array_type<Eigen::ArrayXXd, known>([] { return Eigen::ArrayXXd(20, 50); }, at, 1'000);
  check_array_type<Eigen::Matrix4d, known>([] { return Eigen::Matrix4d(); }, at, 16);
}
