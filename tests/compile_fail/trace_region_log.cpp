// error: a trace_region needs a trace_writer, or no_trace
// SPDX-License-Identifier: Apache-2.0
#include <cairn/trace/trace_region.hpp>
#include <iostream>

void run() {
#ifdef CAIRN_FIXED
  cairn::no_trace log;
#else
  auto& log = std::cerr;
#endif
  cairn::trace_region step{log, "step"};
}
