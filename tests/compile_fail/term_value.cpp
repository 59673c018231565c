// error: a term of the objective must be `f\(x\)`
// SPDX-License-Identifier: Apache-2.0
#include <cairn/cairn.hpp>
#include "preludes/doubled.hpp"
#ifdef CAIRN_FIXED
auto const g = cairn::differentiate(cairn::model{step, adjoint}, 1.0, 10, cairn::at_end(f, df));
#else
auto const g = cairn::differentiate(cairn::model{step, adjoint}, 1.0, 10, cairn::at_end([](double, double&) { return 1.0; }, df));
#endif
