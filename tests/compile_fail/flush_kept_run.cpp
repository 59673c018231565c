// error: a run that is kept is reversed by later calls; set the mode around all of them by an object of your own
// SPDX-License-Identifier: Apache-2.0
#include <cairn/cairn.hpp>
#include <cairn/run/with/flush_subnormals.hpp>
void step(double&);
void run(cairn::revolve const& plan) {
#ifdef CAIRN_FIXED
  cairn::flush_subnormals const flushed;
  (void)cairn::checkpointed_loop(step, 1.0, plan);
#else
  (void)cairn::checkpointed_loop(step, 1.0, plan, cairn::flush_subnormals{});
#endif
}
