// error: a budget is planned by counting bytes, but those of this state
// SPDX-License-Identifier: Apache-2.0
#include <cairn/cairn.hpp>
#include <vector>
#include "preludes/doubled.hpp"
class state {
  std::vector<double> x_{1.0};

 public:
  void go() { x_[0] *= 2; }
};
auto const go = [](state& x) { x.go(); };
auto const back = [](state const&, double& bar) { bar *= 2; };
#ifdef CAIRN_FIXED
auto const g = cairn::gradient(go, state{}, 10, 1.0, back);
#else
auto const g = cairn::gradient(go, state{}, cairn::budget_of{10, 1000}, 1.0, back);
#endif
