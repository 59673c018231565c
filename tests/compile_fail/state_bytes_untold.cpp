// error: not all bytes of this state can be written and read back
// SPDX-License-Identifier: Apache-2.0
#include <cairn/core/state_bytes.hpp>
#include <map>

#ifdef CAIRN_FIXED
std::map<int, double> const x;
#else
double* const x = nullptr;
#endif
struct sink {
  void operator()(void const*, std::size_t) const {}
};
int main() { cairn::write_state(x, sink{}); }
