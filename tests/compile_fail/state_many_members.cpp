// error: this state has more than 24 members
// SPDX-License-Identifier: Apache-2.0
#include <cairn/cairn.hpp>

#ifdef CAIRN_FIXED
struct rates {
  double k[25] = {};
};
#else
struct rates {
  double m0, m1, m2, m3, m4, m5, m6, m7, m8, m9, m10, m11, m12, m13, m14, m15, m16, m17, m18, m19, m20, m21, m22, m23,
      m24;
};
#endif
auto const step = [](rates&) {};
auto const adjoint = [](rates const&, double& bar) { bar *= 2; };
int main() {
  double const g = cairn::gradient(step, rates{}, 10, 1.0, adjoint);
  return 2 * g > 0 ? 0 : 1;
}
