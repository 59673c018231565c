// error: device_probe cannot determine how many bytes of device memory this adjoint holds
// SPDX-License-Identifier: Apache-2.0
#include <cairn/adapt/cuda/device_probe.hpp>
#include <cairn/adapt/cuda/virtual_device.hpp>

using device = cairn::detail::virtual_device;
struct field : cairn::detail::virtual_state {
  ~field() {}
};
using stream = device::stream;
struct handle {
  void* nobody_knows;
};
field make();
void step(field const&, field&, cairn::step_index, stream);
void start(field&, stream);
void seed(field const&, handle&, stream);
void adjoint(field const&, handle&, cairn::step_index, stream);
cairn::workload measured(device& on, stream in, handle& bar) {
#ifdef CAIRN_FIXED
  return cairn::device_probe(on, in, make, step, start, 9, seed, adjoint, bar, 800);
#else
  return cairn::device_probe(on, in, make, step, start, 9, seed, adjoint, bar);
#endif
}
