// error: on a device are values of the host whose bytes are all known
// SPDX-License-Identifier: Apache-2.0
#include <cairn/adapt/cuda/sweep.hpp>
#include <cairn/adapt/cuda/virtual_device.hpp>
#include <cairn/schedule/revolve.hpp>

#include "preludes/device_zeroed.hpp"
#ifdef CAIRN_FIXED
using params = double;
#else
using params = field;
#endif
void step(field const&, field&, params const&, cairn::step_index, stream);
void start(field&, stream);
void seed(field const&, field&, stream);
void adjoint(field const&, field&, params const&, field&, cairn::step_index, stream);
void gradient(cairn::device_sweep<machine, field>& sweep, field& bar, params const& p, field& dp) {
  sweep.gradient(step, start, cairn::revolve{9, 3}, seed, adjoint, bar, cairn::wrt{p, dp});
}
