// error: copying this state would share its data
// SPDX-License-Identifier: Apache-2.0
#include <cairn/cairn.hpp>
#include <memory>

struct cells {
#ifdef CAIRN_FIXED
  double x = 2.1;
#else
  std::shared_ptr<double> x;
#endif
};
struct field : cells {
  double t = 0;
};
auto const step = [](field& at) { at.t += 1; };
auto const adjoint = [](field const&, double& bar) { bar *= 2; };
int main() { (void)cairn::gradient(step, field{}, 10, 1.0, adjoint); }
