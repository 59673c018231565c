// error: a nested loop begins anew from a copy of its state, and this state cannot be copied
#include <cairn/cairn.hpp>

struct solver {
  double x = 1;
  solver() = default;
#ifndef CAIRN_FIXED
  solver(solver const&) = delete;
#endif
  double save() const { return x; }
  void restore(double kept) { x = kept; }
};
int main() {
  solver s;
  cairn::nested loop{cairn::revolve{5, 2}, [](solver& at) { at.x *= 0.5; }, [](solver const&, double& bar) { bar *= 0.5; }};
  double const g = cairn::gradient(loop.step, s, 10, 1.0, loop.adjoint);
  return 2 * g + s.x > 0 ? 0 : 1;
}
