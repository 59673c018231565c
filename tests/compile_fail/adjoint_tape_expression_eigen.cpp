// error: the tape that record returns is a pointer, a view or an expression of data that changes later
// SPDX-License-Identifier: Apache-2.0
// flags: -DEIGEN_NO_CUDA
#include <Eigen/Core>
#include <cairn/cairn.hpp>

using field = Eigen::ArrayXd;
auto const step = [](field& x) { x = x.sin().eval(); };
auto const record = [](field& x) {
#ifdef CAIRN_FIXED
  field tape = x.cos();
#else
  auto tape = x.cos();
#endif
  step(x);
  return tape;
};
auto const adjoint = cairn::recorded{record, [](auto& tape, field& bar) { bar *= tape; }};
int main() { (void)cairn::gradient(step, field::Constant(1, 2.1).eval(), 20, field::Constant(1, 1.0).eval(), adjoint); }
