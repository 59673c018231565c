// error: what follows the bar of a device sweep may be, in any order
// SPDX-License-Identifier: Apache-2.0
#include <cairn/adapt/cuda/sweep.hpp>
#include <cairn/adapt/cuda/virtual_device.hpp>
#include <cairn/schedule/revolve.hpp>

#include "preludes/device_field.hpp"
void start(field&, stream);
void seed(field const&, field&, stream);
void adjoint(field const&, field&, cairn::step_index, stream);
cairn::sweep_report report;
#ifdef CAIRN_FIXED
cairn::sweep_options const options;
#else
int const options = 3;
#endif
void gradient(cairn::device_sweep<device, field>& sweep, field& bar) {
  sweep.gradient(step, start, cairn::revolve{9, 3}, seed, adjoint, bar, options, report);
}
