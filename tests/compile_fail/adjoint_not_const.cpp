// error: the adjoint takes the state by a reference that is not const
// SPDX-License-Identifier: Apache-2.0
#include <cairn/cairn.hpp>
auto const step = [](double& x) { x *= 2; };
#ifdef CAIRN_FIXED
auto const g = cairn::gradient(step, 1.0, 10, 1.0, [](double const&, double& bar) { bar *= 2; });
#else
auto const g = cairn::gradient(step, 1.0, 10, 1.0, [](double&, double& bar) { bar *= 2; });
#endif
