// error: on a device must lie in device memory and say where
// SPDX-License-Identifier: Apache-2.0
#include <cairn/adapt/cuda/sweep.hpp>
#include <cairn/adapt/cuda/virtual_device.hpp>
#include <cairn/schedule/revolve.hpp>

#include "preludes/device_zeroed.hpp"
#ifdef CAIRN_FIXED
using sum = field;
#else
using sum = double;
#endif
void step(field const&, field&, double const&, cairn::step_index, stream);
void start(field&, stream);
void seed(field const&, field&, stream);
void adjoint(field const&, field&, double const&, sum&, cairn::step_index, stream);
void gradient(cairn::device_sweep<machine, field>& sweep, field& bar, double const& p, sum& dp) {
  sweep.gradient(step, start, cairn::revolve{9, 3}, seed, adjoint, bar, cairn::wrt{p, dp});
}
