// error: a trace_region needs a trace_writer, or no_trace
// SPDX-License-Identifier: Apache-2.0
#include <cairn/trace/trace_region.hpp>

struct own_log {};
void run() {
#ifdef CAIRN_FIXED
  cairn::no_trace log;
#else
  own_log log;
#endif
  cairn::trace_region step{log, "step"};
}
