// error: with_constants names members of an aggregate, and this state cannot be taken apart into members
// SPDX-License-Identifier: Apache-2.0
#include <cairn/cairn.hpp>
#include <cairn/run/check/check_adjoint.hpp>

struct field {
  double u = 1, t = 0;
#ifndef CAIRN_FIXED
  field() {}
  void visit_numbers(auto&& f) { f(&u, 1); }
  void visit_numbers(auto&& f) const { f(&u, 1); }
#endif
};
int main() {
  auto step = [](field& x) { x.u *= 0.5; };
  auto adjoint = [](field const&, field& bar) { bar.u *= 0.5; };
  return cairn::check_adjoint(step, adjoint, cairn::with_constants{field{}, &field::t}, 3).passed() ? 0 : 1;
}
