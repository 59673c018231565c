// SPDX-License-Identifier: Apache-2.0
// A state of a device that is not there, and its step. Included within a namespace, so without #pragma once and without headers.
using device = cairn::detail::virtual_device;
struct field : cairn::detail::virtual_state {
  ~field() {}
};
using stream = device::stream;
void step(field const&, field&, cairn::step_index, stream);
