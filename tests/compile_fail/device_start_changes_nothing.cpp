// error: the initial state on a device must be a state like the frames
// SPDX-License-Identifier: Apache-2.0
#include <cairn/adapt/cuda/sweep.hpp>
#include <cairn/adapt/cuda/virtual_device.hpp>
#include <cairn/schedule/revolve.hpp>

#include "preludes/device_field.hpp"
#ifdef CAIRN_FIXED
void start(field&, stream);
#else
void start(field const&, stream);
#endif
static_assert(!cairn::detail::starts_on_device<field(stream), field, stream>());
void seed(field const&, field&, stream);
void adjoint(field const&, field&, cairn::step_index, stream);
void gradient(cairn::device_sweep<device, field>& sweep, field& bar) {
  sweep.gradient(step, start, cairn::revolve{9, 3}, seed, adjoint, bar);
}
