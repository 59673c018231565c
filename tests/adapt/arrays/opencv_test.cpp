// SPDX-License-Identifier: Apache-2.0
#include <vector>

#include <opencv2/core.hpp>

#include "array_type.hpp"

TEST_CASE("matrices of OpenCV share their data, and are no states", "[arrays]") {
  CHECK_FALSE(cairn::copied_state<cv::Mat>);
  CHECK_FALSE(cairn::copied_state<cv::Mat_<double>>);
  CHECK_FALSE(cairn::copied_state<cv::UMat>);
  CHECK_FALSE(cairn::copied_state<cv::SparseMat>);
  CHECK_FALSE(cairn::copied_state<std::vector<cv::Mat>>);
}
TEST_CASE("small vectors and points of OpenCV are copied, and nothing more is known of them", "[arrays]") {
  check_array_type<cv::Vec3d, 0>([] { return cv::Vec3d(); }, [](auto& x, std::size_t k) -> auto& { return x.val[k]; }, 3);
  check_array_type<cv::Matx22d, bytes>([] { return cv::Matx22d(); },
                                       [](auto& x, std::size_t k) -> auto& { return x.val[k]; }, 4);
}
