// error: the replay check cannot determine which bytes of this state on a device are padding
// SPDX-License-Identifier: Apache-2.0
#include <cairn/adapt/cuda/sweep.hpp>
#include <cairn/adapt/cuda/virtual_device.hpp>
#include <cstddef>

struct cell {
  double u;
#ifdef CAIRN_FIXED
  long long mark;
#else
  int mark;
#endif
};
struct field {
  using value_type = cell;
  cairn::device_pointer<cell> data();
  cairn::device_pointer<cell const> data() const;
  std::size_t size() const;
};
using device = cairn::detail::virtual_device;
void make(device& on) {
  cairn::device_sweep<device, field> sweep{
      on, on.make_stream(), {2, 1}, [] { return field{}; }, {.verify = cairn::replay_check::checkpoints}};
}
