// error: a run on cairn::disk goes on by itself, without resume: call the verb with which it began once more
// SPDX-License-Identifier: Apache-2.0
#include <cairn/cairn.hpp>

struct on_disk { struct keeps_runs {}; };
auto const step = [](double& x) { x *= 2; };
auto const adjoint = [](double, double& bar) { bar *= 2; };
#ifdef CAIRN_FIXED
auto run = cairn::workspace_for<double>(cairn::revolve{10, 3});
#else
on_disk const run;
#endif
double bar = cairn::resume(step, 1.0, cairn::revolve{10, 3}, 1.0, adjoint, run);
