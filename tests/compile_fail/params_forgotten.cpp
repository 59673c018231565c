// error: this step takes parameters after its state
// SPDX-License-Identifier: Apache-2.0
#include <cairn/cairn.hpp>
struct rates { double birth, death; };
auto const step = [](double& x, rates const& p) { x *= p.birth - p.death; };
auto const adjoint = [](double x, double& bar, rates const& p, rates& dp) { dp.birth += bar * x, bar *= p.birth - p.death; };
rates p{2, 1}, dp{};
#ifdef CAIRN_FIXED
auto const g = cairn::gradient(step, 1.0, 10, 1.0, adjoint, cairn::wrt{p, dp});
#else
auto const g = cairn::gradient(step, 1.0, 10, 1.0, adjoint);
#endif
