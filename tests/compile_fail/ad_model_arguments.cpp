// error: the model must be `model\(x, params, i\)`
// SPDX-License-Identifier: Apache-2.0
#include <cstddef>
#include <vector>
#include <cairn/adapt/ad.hpp>

#include "preludes/ad_tool.hpp"
struct turned {
  template <class T> void operator()(T const& a, vec<T>& x) const { x[0] = a * x[0]; }
};
int main() {
#ifdef CAIRN_FIXED
  auto const found = cairn::differentiate(tool{}, model{}, vec<double>{2}, 1.5, 10, last);
#else
  auto const found = cairn::differentiate(tool{}, turned{}, vec<double>{2}, 1.5, 10, last);
#endif
  return found.value > 0 ? 0 : 1;
}
