// error: cannot determine how many bytes this state holds
// SPDX-License-Identifier: Apache-2.0
#include <cairn/core/state_traits.hpp>
#include <vector>

struct grid : std::vector<double> {
#ifndef CAIRN_FIXED
  std::vector<double> boundary;
#endif
};
grid const x;
auto const size = cairn::bytes_of(x);
