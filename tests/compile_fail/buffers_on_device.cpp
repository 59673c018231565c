// error: a part of this state lies in device memory, which host code cannot read
// SPDX-License-Identifier: Apache-2.0
#include <cairn/core/buffers.hpp>
#include <cstddef>

struct field {
  using value_type = double;
  cairn::device_pointer<double> data();
  cairn::device_pointer<double const> data() const;
  std::size_t size() const;
};
struct state {
  field u;
  double time = 0;
};
struct look {
  void operator()(void const*, std::size_t) const {}
#ifdef CAIRN_FIXED
  void operator()(cairn::device_pointer<void const>, std::size_t) const {}
#endif
};
void hash(state const& x) { cairn::visit_buffers(x, look{}); }
