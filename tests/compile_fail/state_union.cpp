// error: this state has bit-fields, packed members or a union
// SPDX-License-Identifier: Apache-2.0
#include <cairn/cairn.hpp>
#include <variant>

#ifdef CAIRN_FIXED
using number = std::variant<double, float>;
#else
union number {
  double wide;
  float narrow;
};
#endif
struct field {
  double t = 0;
  number x{};
};
auto const step = [](field& at) { at.t += 1; };
auto const adjoint = [](field const&, double& bar) { bar *= 2; };
int main() { (void)cairn::gradient(step, field{}, 10, 1.0, adjoint); }
