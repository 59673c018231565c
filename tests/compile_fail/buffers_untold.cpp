// error: cannot determine the bytes of this state
// SPDX-License-Identifier: Apache-2.0
#include <cairn/core/buffers.hpp>
#include <set>
#include <vector>

#ifdef CAIRN_FIXED
std::vector<int> const x;
#else
std::set<int> const x;
#endif
struct look {
  void operator()(void const*, std::size_t) const {}
};
int main() { cairn::visit_buffers(x, look{}); }
