// error: the order is differentiate\(model, x0, p, plan, objective\)
// SPDX-License-Identifier: Apache-2.0
#include <cstddef>
#include <vector>
#include <cairn/adapt/ad.hpp>

#include "preludes/ad_tool.hpp"
auto const grown = cairn::by_tool(tool{}, model{});
int main() {
#ifdef CAIRN_FIXED
  auto const found = cairn::differentiate(grown, vec<double>{2}, 1.5, 10, last);
#else
  auto const found = cairn::differentiate(grown, vec<double>{2}, 1.5, last, 10);
#endif
  return found.value > 0 ? 0 : 1;
}
