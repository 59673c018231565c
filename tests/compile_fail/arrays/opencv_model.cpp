// error: the adjoint is to be a copy of the state with its numbers set to zero, but .* its copies share data
// SPDX-License-Identifier: Apache-2.0
#include <cairn/cairn.hpp>
#include <opencv2/core.hpp>
#include <vector>

#ifdef CAIRN_FIXED
using field = std::vector<double>;
#else
using field = cv::Mat_<double>;
#endif
int main() {
  auto const step = [](field&) {};
  auto const adjoint = [](field const&, field&) {};
  auto const objective = cairn::at_end([](field const&) { return 1.0; }, [](field const&, field&) {});
  (void)cairn::differentiate(cairn::model{step, adjoint}, field(4, 1), cairn::revolve{20, 4}, objective);
}
