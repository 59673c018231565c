// error: a step that runs backwards makes the states for an adjoint
// SPDX-License-Identifier: Apache-2.0
#include <cairn/run/with/reversible.hpp>

auto const step = [](double& x) { x += 0.5; };
auto const back = [](double& x) { x -= 0.5; };
#ifdef CAIRN_FIXED
cairn::model m{cairn::reversible{step, back}, [](double, double&) {}};
#else
cairn::model m{cairn::reversible{step, back},
               cairn::recorded{[](double& x) { return x += 0.5; }, [](double, double&) {}}};
#endif
