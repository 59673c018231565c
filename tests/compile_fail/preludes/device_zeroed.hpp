// SPDX-License-Identifier: Apache-2.0
// A device that can set memory to zero, and a state of it. Included within a namespace, so without #pragma once and without headers.
struct machine : cairn::detail::virtual_device {
  void zero(void*, std::size_t, stream);
};
struct field : cairn::detail::virtual_state {
  ~field() {}
};
using stream = machine::stream;
