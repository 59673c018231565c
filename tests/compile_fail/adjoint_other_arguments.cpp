// error: the adjoint must be `adjoint\(x, bar, i\)`
// SPDX-License-Identifier: Apache-2.0
#include <cairn/cairn.hpp>
auto const step = [](double& x) { x *= 2; };
#ifdef CAIRN_FIXED
auto const g = cairn::gradient(step, 1.0, 10, 1.0, [](double, double& bar) { bar *= 2; });
#else
auto const g = cairn::gradient(step, 1.0, 10, 1.0, [](double) {});
#endif
