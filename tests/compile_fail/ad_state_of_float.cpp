// error: this state has no double that a tool's number can replace
// SPDX-License-Identifier: Apache-2.0
#include <cstddef>
#include <vector>
#include <cairn/adapt/ad.hpp>

#include "preludes/ad_tool.hpp"
struct single {
  void operator()(vec<float>& x, double const&, cairn::step_index) const { x[0] *= 2; }
};
int main() {
#ifdef CAIRN_FIXED
  auto const found = cairn::differentiate(tool{}, model{}, vec<double>{2}, 1.5, 10, last);
#else
  auto const found = cairn::differentiate(tool{}, single{}, vec<float>{2}, 1.5, 10, last);
#endif
  return found.value > 0 ? 0 : 1;
}
