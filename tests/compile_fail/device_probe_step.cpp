// error: the step on a device must be `step\(x, x1, i, stream\)`
// SPDX-License-Identifier: Apache-2.0
#include <cairn/adapt/cuda/device_probe.hpp>
#include <cairn/adapt/cuda/virtual_device.hpp>

using device = cairn::detail::virtual_device;
struct field : cairn::detail::virtual_state {
  ~field() {}
};
using stream = device::stream;
#ifdef CAIRN_FIXED
void step(field&, cairn::step_index, stream);
#else
void step(field&, stream);
#endif
field make();
void start(field&, stream);
void seed(field const&, field&, stream);
void adjoint(field const&, field&, cairn::step_index, stream);
cairn::workload measured(device& on, stream in, field& bar) {
  return cairn::device_probe(on, in, make, step, start, 9, seed, adjoint, bar);
}
