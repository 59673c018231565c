// error: the tape that record returns is a pointer, a view or an expression of data that changes later
// SPDX-License-Identifier: Apache-2.0
#include <cairn/cairn.hpp>
#include <cmath>
#include <span>
#include <vector>

using field = std::vector<double>;
auto const step = [](field& x) { x[0] = std::sin(x[0]); };
auto const record = [](field& x) {
#ifdef CAIRN_FIXED
  field tape = x;
#else
  std::span<double const> tape = x;
#endif
  step(x);
  return tape;
};
auto const adjoint = cairn::recorded{record, [](auto const& tape, field& bar) { bar[0] *= std::cos(tape[0]); }};
int main() { (void)cairn::gradient(step, field{2.1}, 20, field{1}, adjoint); }
