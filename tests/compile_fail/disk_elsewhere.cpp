// error: cairn::disk goes on by itself: give it to the verb with which the loop begins, such as cairn::gradient, in the place of a workspace
// SPDX-License-Identifier: Apache-2.0
#include <cairn/cairn.hpp>

struct on_disk { struct keeps_runs {}; };
auto const step = [](double& x) { x *= 2; };
auto const adjoint = [](double, double& bar) { bar *= 2; };
auto work = cairn::workspace_for<double>(cairn::revolve{10, 3});
#ifdef CAIRN_FIXED
double bar = cairn::resume(step, 1.0, cairn::revolve{10, 3}, 1.0, adjoint, work);
#else
double bar = cairn::resume(step, 1.0, cairn::revolve{10, 3}, 1.0, adjoint, work, on_disk{});
#endif
