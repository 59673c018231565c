// error: the model takes only numbers of type double
// SPDX-License-Identifier: Apache-2.0
#include <cstddef>
#include <vector>
#include <cairn/adapt/ad.hpp>

#include "preludes/ad_tool.hpp"
struct plain {
  void operator()(vec<double>& x, double const& a, cairn::step_index) const { x[0] *= a; }
};
int main() {
#ifdef CAIRN_FIXED
  auto const found = cairn::differentiate(tool{}, model{}, vec<double>{2}, 1.5, 10, last);
#else
  auto const found = cairn::differentiate(tool{}, plain{}, vec<double>{2}, 1.5, 10, last);
#endif
  return found.value > 0 ? 0 : 1;
}
