// error: the tool must be a tape that can be recorded and reversed
// SPDX-License-Identifier: Apache-2.0
#include <cstddef>
#include <vector>
#include <cairn/adapt/ad.hpp>

#include "preludes/ad_tool.hpp"
struct half_a_tool {
  using scalar = number;
  void begin(std::size_t) {}
};
int main() {
#ifdef CAIRN_FIXED
  auto const found = cairn::differentiate(tool{}, model{}, vec<double>{2}, 1.5, 10, last);
#else
  auto const found = cairn::differentiate(half_a_tool{}, model{}, vec<double>{2}, 1.5, 10, last);
#endif
  return found.value > 0 ? 0 : 1;
}
