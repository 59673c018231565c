// error: the adjoint on a device must be `adjoint\(x, bar, i, stream\)`
// SPDX-License-Identifier: Apache-2.0
#include <cairn/adapt/cuda/sweep.hpp>
#include <cairn/adapt/cuda/virtual_device.hpp>
#include <cairn/schedule/revolve.hpp>

#include "preludes/device_field.hpp"
void start(field&, stream);
void seed(field const&, field&, stream);
#ifdef CAIRN_FIXED
void adjoint(field const&, field&, cairn::step_index, stream);
#else
void adjoint(field&, field&, cairn::step_index, stream);
#endif
using returns = field(field const&, field const&, cairn::step_index, stream);
static_assert(!cairn::detail::calls_void<returns, field const&, field&, cairn::step_index const&, stream>);
void gradient(cairn::device_sweep<device, field>& sweep, field& bar) {
  sweep.gradient(step, start, cairn::revolve{9, 3}, seed, adjoint, bar);
}
