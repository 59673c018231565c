// error: copying this state would share its data
// SPDX-License-Identifier: Apache-2.0
#include <cairn/cairn.hpp>
#include <opencv2/core.hpp>
#include <type_traits>
#include <vector>

#ifdef CAIRN_FIXED
std::vector<double> const x0(4, 1.0);
#else
cv::Mat const x0(2, 2, CV_64F);  // a handle of its elements
#endif
int main() {
  using field = std::remove_const_t<decltype(x0)>;
  auto const step = [](field&) {};
  auto const adjoint = [](field const&, field&) {};
  (void)cairn::gradient(step, x0, 20, [](field const& x) { return x; }, adjoint);
}
