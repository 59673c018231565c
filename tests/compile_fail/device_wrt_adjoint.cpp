// error: with cairn::wrt p and `auto& dp` come before i
// SPDX-License-Identifier: Apache-2.0
#include <cairn/adapt/cuda/sweep.hpp>
#include <cairn/adapt/cuda/virtual_device.hpp>
#include <cairn/schedule/revolve.hpp>

#include "preludes/device_zeroed.hpp"
void step(field const&, field&, double, cairn::step_index, stream);
void start(field&, stream);
void seed(field const&, field&, stream);
#ifdef CAIRN_FIXED
void adjoint(field const&, field&, double, field&, cairn::step_index, stream);
#else
void adjoint(field const&, field&, cairn::step_index, stream);
#endif
void gradient(cairn::device_sweep<machine, field>& sweep, field& bar, double const& p, field& dp) {
  sweep.gradient(step, start, cairn::revolve{9, 3}, seed, adjoint, bar, cairn::wrt{p, dp});
}
