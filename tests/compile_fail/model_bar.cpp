// error: give the model a member bar\(x\)
// SPDX-License-Identifier: Apache-2.0
#include <cairn/cairn.hpp>
#include "preludes/doubled.hpp"
#include "preludes/solver.hpp"
solver s;
auto const go = [](solver& at) { at.x *= 2; };
auto const back = [](solver const&, double& bar) { bar *= 2; };
auto const objective = cairn::at_end([](solver const& at) { return at.x; }, [](solver const&, double& bar) { bar += 1; });
#ifdef CAIRN_FIXED
auto const g = cairn::differentiate(cairn::model{go, back, [](solver const&) { return 0.0; }}, s, 10, objective);
#else
auto const g = cairn::differentiate(cairn::model{go, back}, s, 10, objective);
#endif
