// error: cannot determine the floating-point numbers of this type
// SPDX-License-Identifier: Apache-2.0
#include <cairn/core/numbers.hpp>

class field {
 public:
  double u = 1;
  field() {}
#ifdef CAIRN_FIXED
  void visit_numbers(auto&& f) { f(&u, 1); }
  void visit_numbers(auto&& f) const { f(&u, 1); }
#endif
 private:
  double hidden_ = 0;
};
int main() {
  field x;
  double sum = 0;
  cairn::visit_numbers(x, [&](double const* run, std::size_t) { sum += *run; });
  return sum == 1 ? 0 : 1;
}
