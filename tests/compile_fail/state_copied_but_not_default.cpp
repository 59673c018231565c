// error: needs a default constructor
// SPDX-License-Identifier: Apache-2.0
#include <cairn/cairn.hpp>

struct view {
  explicit view(double* to) : x{to} {}
  view(view const&) = default;
  double* x;
};
#ifdef CAIRN_FIXED
struct field : view {
  field() : view{&own} {}
  field(field const& other) : view{&own}, own{other.own} {}
  double own = 1;
};
field x0;
#else
struct field : view {
  using view::view;
};
double own = 1;
field x0{&own};
#endif
template <>
struct cairn::state_traits<field> {
  static void copy(field const& from, field& into) { *into.x = *from.x; }
};
auto const step = [](field& at) { *at.x *= 2; };
auto const adjoint = [](field const&, double& bar) { bar *= 2; };
int main() {
  double const g = cairn::gradient(step, x0, 10, 1.0, adjoint);
  return 2 * g > 0 ? 0 : 1;
}
