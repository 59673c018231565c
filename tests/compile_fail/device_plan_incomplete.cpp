// error: the plan must be a schedule with steps\(\), slots\(\), leaf\(\) and walk\(\)
// SPDX-License-Identifier: Apache-2.0
#include <cairn/adapt/cuda/sweep.hpp>
#include <cairn/adapt/cuda/virtual_device.hpp>

#include "preludes/device_field.hpp"
void start(field&, stream);
void seed(field const&, field&, stream);
void adjoint(field const&, field&, cairn::step_index, stream);
#ifdef CAIRN_FIXED
#include <cairn/schedule/revolve.hpp>
using plan = cairn::revolve;
#else
struct plan {
  cairn::step_index length;
  cairn::slot_index count;
  cairn::step_index steps() const { return length; }
};
#endif
void gradient(cairn::device_sweep<device, field>& sweep, field& bar) {
  sweep.gradient(step, start, plan{9, 3}, seed, adjoint, bar);
}
