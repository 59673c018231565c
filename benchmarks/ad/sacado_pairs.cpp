// SPDX-License-Identifier: Apache-2.0
// Sacado's tape of the whole loop against leaves under checkpoints.
#include <cairn/adapt/sacado.hpp>
#include "full_tape.hpp"

namespace {

double full() {
  using number = Sacado::Rad::ADvar<double>;
  auto const x0 = start();
  state<number> x;
  for (std::size_t k = 0; k < cells; ++k) x.u[k] = x0.u[k];
  number const nu = viscosity;
  x.sum = 0.0;
  for (cairn::step_index i = 0; i < length; ++i) burgers{}(x, nu, i);
  number::Outvar_Gradcomp(x.sum);
  return nu.adj();
}

}  // namespace

int main() {
  compare("Sacado", full, [] { return cairn::sacado_tape{}; });
}
