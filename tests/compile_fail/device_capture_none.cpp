// error: this runtime captures no graphs: it must be a cairn::capturing_runtime
// SPDX-License-Identifier: Apache-2.0
#include <cairn/adapt/cuda/sweep.hpp>
#include <cairn/adapt/cuda/virtual_device.hpp>
#include <cairn/schedule/revolve.hpp>

#include "preludes/device_field.hpp"
void start(field&, stream);
void seed(field const&, field&, stream);
void adjoint(field const&, field&, cairn::step_index, stream);
void gradient(cairn::device_sweep<device, field>& sweep, field& bar) {
#ifdef CAIRN_FIXED
  sweep.gradient(step, start, cairn::revolve{9, 3}, seed, adjoint, bar);
#else
  sweep.capture(step, start, cairn::revolve{9, 3}, seed, adjoint, bar);
#endif
}
