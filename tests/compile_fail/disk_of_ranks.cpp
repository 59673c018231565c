// error: ranks that run a sweep together go on from disk in gradient and differentiate with a plan of known length
// SPDX-License-Identifier: Apache-2.0
#include <cairn/cairn.hpp>

struct on_disk { struct keeps_runs {}; };
struct ranks { struct together {}; };
auto const step = [](double& x) { x *= 2; };
#ifdef CAIRN_FIXED
auto run = cairn::checkpointed_loop(step, 1.0, cairn::revolve{10, 3});
#else
auto run = cairn::checkpointed_loop(step, 1.0, cairn::revolve{10, 3}, ranks{}, on_disk{});
#endif
