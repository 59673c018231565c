// error: the step must return nothing, or the state itself
// SPDX-License-Identifier: Apache-2.0
#include <cairn/cairn.hpp>

struct state {
  double x;
};
struct half {
  double x;
  operator state() const { return {x}; }
};
auto const adjoint = [](state const&, double& bar) { bar /= 2; };
#ifdef CAIRN_FIXED
auto const step = [](state const& x) { return state{x.x / 2}; };
#else
auto const step = [](state const& x) { return half{x.x / 2}; };
#endif
int main() {
  double const g = cairn::gradient(step, state{1}, 10, 1.0, adjoint);
  return 2 * g > 0 ? 0 : 1;
}
