// error: cairn::disk stands in gradient and differentiate with a plan of known length; elsewhere give a store of your own
// SPDX-License-Identifier: Apache-2.0
#include <cairn/cairn.hpp>

struct on_disk { struct keeps_runs {}; };
auto const step = [](double& x) { x *= 2; };
#ifdef CAIRN_FIXED
auto run = cairn::checkpointed_loop(step, 1.0, cairn::revolve{10, 3});
#else
auto run = cairn::checkpointed_loop(step, 1.0, cairn::revolve{10, 3}, on_disk{});
#endif
