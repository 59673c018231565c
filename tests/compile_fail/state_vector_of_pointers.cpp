// error: copying this state would share its data
// SPDX-License-Identifier: Apache-2.0
#include <cairn/cairn.hpp>
#include <vector>

#ifdef CAIRN_FIXED
struct field {
  std::vector<double> x;
  int kind = 0;
};
#else
struct field {
  std::vector<double*> x;
  int kind = 0;
};
#endif
auto const step = [](field& at) { at.kind += 1; };
auto const adjoint = [](field const&, double& bar) { bar *= 2; };
int main() {
  double const g = cairn::gradient(step, field{}, 10, 1.0, adjoint);
  return 2 * g > 0 ? 0 : 1;
}
