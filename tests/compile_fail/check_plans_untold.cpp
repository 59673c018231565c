// error: check_plans cannot determine the bytes of this adjoint or result
// SPDX-License-Identifier: Apache-2.0
#include <cairn/cairn.hpp>
#include <cairn/run/check/check_plans.hpp>

class bar {
 public:
  double value = 1;
#ifdef CAIRN_FIXED
  void visit_buffers(auto& f) const { cairn::visit_buffers(value, f); }
  void visit_buffers(auto& f) { cairn::visit_buffers(value, f); }
#endif

 private:
  char letter_ = 0;
};
auto const step = [](double& x) { x *= x; };
auto const adjoint = [](double x, bar& b) { b.value *= 2 * x; };
int main() { return cairn::check_plans(step, 0.5, 3, bar{}, adjoint).passed() ? 0 : 1; }
