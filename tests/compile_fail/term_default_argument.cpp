// error: a default argument of a term of the objective
// SPDX-License-Identifier: Apache-2.0
#include <cairn/cairn.hpp>
#include "preludes/doubled.hpp"
cairn::model const twice{step, adjoint};
#ifdef CAIRN_FIXED
auto const g = cairn::differentiate(twice, 1.0, 10, cairn::at_end(f, df));
#else
auto const g = cairn::differentiate(twice, 1.0, 10, cairn::at_end([](double x, int k = 2) { return k * x; }, df));
#endif
