// error: the step on a device must be `step\(x, x1, i, stream\)`
// SPDX-License-Identifier: Apache-2.0
#include <cairn/adapt/cuda/device_probe.hpp>
#include <cairn/adapt/cuda/virtual_device.hpp>

using device = cairn::detail::virtual_device;
struct field : cairn::detail::virtual_state {
  ~field() {}
};
using stream = device::stream;
#ifdef CAIRN_FIXED
void step(field const&, field&, cairn::step_index, stream);
#else
void step(field const&, field, cairn::step_index, stream);
#endif
template <class Step>
constexpr bool is_none = cairn::detail::device_step_form<Step, field, stream>() == cairn::step_form::none;
static_assert(is_none<void(field&, stream)> && is_none<void(field const&, field&, cairn::step_index)>);
static_assert(is_none<void(field const&, cairn::step_index, stream)>);
static_assert(is_none<field(field const&, cairn::step_index, stream)>);
field make();
void start(field&, stream);
void seed(field const&, field&, stream);
void adjoint(field const&, field&, cairn::step_index, stream);
cairn::workload measured(device& on, stream in, field& bar) {
  return cairn::device_probe(on, in, make, step, start, 9, seed, adjoint, bar);
}
