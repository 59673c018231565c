// error: a source of bytes is called as source
// SPDX-License-Identifier: Apache-2.0
#include <cairn/core/state_bytes.hpp>

struct source {
  void operator()(void*, std::size_t) const {}
#ifdef CAIRN_FIXED
  std::size_t left() const { return 0; }
#endif
};
int main() {
  double x = 0;
  cairn::read_state(x, source{});
}
