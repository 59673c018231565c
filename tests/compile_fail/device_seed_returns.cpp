// error: the seed on a device must be `seed\(x, bar, stream\)`
// SPDX-License-Identifier: Apache-2.0
#include <cairn/adapt/cuda/sweep.hpp>
#include <cairn/adapt/cuda/virtual_device.hpp>
#include <cairn/schedule/revolve.hpp>

#include "preludes/device_field.hpp"
void start(field&, stream);
#ifdef CAIRN_FIXED
void seed(field const&, field&, stream);
#else
field seed(field const&, field const&, stream);
#endif
void adjoint(field const&, field&, cairn::step_index, stream);
void gradient(cairn::device_sweep<device, field>& sweep, field& bar) {
  sweep.gradient(step, start, cairn::revolve{9, 3}, seed, adjoint, bar);
}
