// error: a default argument of this model would get the index
// SPDX-License-Identifier: Apache-2.0
#include <cstddef>
#include <vector>
#include <cairn/adapt/ad.hpp>

#include "preludes/ad_tool.hpp"
struct repeated {
  template <class T> void operator()(vec<T>& x, T const& a, int times = 1) const { while (times-- > 0) x[0] = a * x[0]; }
};
int main() {
#ifdef CAIRN_FIXED
  auto const found = cairn::differentiate(tool{}, model{}, vec<double>{2}, 1.5, 10, last);
#else
  auto const found = cairn::differentiate(tool{}, repeated{}, vec<double>{2}, 1.5, 10, last);
#endif
  return found.value > 0 ? 0 : 1;
}
