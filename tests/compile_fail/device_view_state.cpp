// error: copying this state would share its data
// SPDX-License-Identifier: Apache-2.0
#include <cairn/cairn.hpp>
#include <vector>

#ifdef CAIRN_FIXED
using field = std::vector<double>;
#else
using field = cairn::device_view<double>;
#endif
void step(field&, cairn::step_index);
void adjoint(field const&, std::vector<double>&, cairn::step_index);
std::vector<double> gradient(field const& x0, std::vector<double> const& seed) {
#ifdef CAIRN_FIXED
  return cairn::gradient(step, x0, 9, seed, adjoint);
#else
  cairn::gradient(step, x0, 9, seed, adjoint);
  return seed;
#endif
}
