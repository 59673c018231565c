// error: with cairn::wrt p comes before i
// SPDX-License-Identifier: Apache-2.0
#include <cairn/adapt/cuda/sweep.hpp>
#include <cairn/adapt/cuda/virtual_device.hpp>
#include <cairn/schedule/revolve.hpp>

#include "preludes/device_zeroed.hpp"
#ifdef CAIRN_FIXED
void step(field const&, field&, double, cairn::step_index, stream);
#else
void step(field const&, field&, cairn::step_index, double, stream);
#endif
void start(field&, stream);
void seed(field const&, field&, stream);
void adjoint(field const&, field&, double, field&, cairn::step_index, stream);
void gradient(cairn::device_sweep<machine, field>& sweep, field& bar, double const& p, field& dp) {
  sweep.gradient(step, start, cairn::revolve{9, 3}, seed, adjoint, bar, cairn::wrt{p, dp});
}
