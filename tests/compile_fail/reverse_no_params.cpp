// error: this loop has no parameters
// SPDX-License-Identifier: Apache-2.0
#include <cairn/cairn.hpp>
auto run = cairn::checkpointed_loop([](double& x) { x *= 2; }, 1.0, 10);
double dp = 0;
auto const adjoint = [](double, double& bar) { bar *= 2; };
#ifdef CAIRN_FIXED
auto const g = run.reverse(1.0, adjoint);
#else
auto const g = run.reverse(1.0, adjoint, dp);
#endif
