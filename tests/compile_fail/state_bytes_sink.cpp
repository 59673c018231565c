// error: a sink of bytes is called as sink
// SPDX-License-Identifier: Apache-2.0
#include <cairn/core/state_bytes.hpp>

struct sink {
#ifdef CAIRN_FIXED
  void operator()(void const*, std::size_t) const {}
#else
  bool operator()(void const*, std::size_t) const { return false; }
#endif
};
int main() { cairn::write_state(1.0, sink{}); }
