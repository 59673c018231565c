// error: return that scalar itself
// SPDX-License-Identifier: Apache-2.0
#include <cstddef>
#include <vector>
#include <cairn/adapt/ad.hpp>

#include "preludes/ad_tool.hpp"
struct product {
  number const *a, *b;
  operator number() const { return *a * *b; }
};
product squared(number const& a) { return {&a, &a}; }
double squared(double a) { return a * a; }
auto const expression = [](auto const& x) { return squared(x[0]); };
int main() {
#ifdef CAIRN_FIXED
  auto const found = cairn::differentiate(tool{}, model{}, vec<double>{2}, 1.5, 10, last);
#else
  auto const found = cairn::differentiate(tool{}, model{}, vec<double>{2}, 1.5, 10, expression);
#endif
  return found.value > 0 ? 0 : 1;
}
