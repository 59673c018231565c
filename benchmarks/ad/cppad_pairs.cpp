// SPDX-License-Identifier: Apache-2.0
// CppAD's tape of the whole loop against leaves under checkpoints.
#include <cairn/adapt/cppad.hpp>
#include <vector>
#include "full_tape.hpp"

namespace {

double full() {
  using number = CppAD::AD<double>;
  auto const x0 = start();
  std::vector<number> in(cells + 1), out(1);
  for (std::size_t k = 0; k < cells; ++k) in[k] = x0.u[k];
  in[cells] = viscosity;
  CppAD::Independent(in);
  state<number> x;
  for (std::size_t k = 0; k < cells; ++k) x.u[k] = in[k];
  x.sum = 0.0;
  for (cairn::step_index i = 0; i < length; ++i) burgers{}(x, in[cells], i);
  out[0] = x.sum;
  CppAD::ADFun<double> function(in, out);
  return function.Reverse(1, std::vector<double>{1})[cells];
}

}  // namespace

int main() {
  compare("CppAD", full, [] { return cairn::cppad_tape{}; });
  compare<burgers_by_data>("replayed", full, [] { return cairn::cppad_tape{}; });
}
