// error: cannot determine how many bytes this state holds
// SPDX-License-Identifier: Apache-2.0
#include <cairn/core/state_traits.hpp>
#include <map>
#include <vector>

struct node {
  double x;
};
#ifdef CAIRN_FIXED
std::vector<node> const x;
#else
std::map<int, node> const x;
#endif
auto const size = cairn::bytes_of(x);
