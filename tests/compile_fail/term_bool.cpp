// error: a term of the objective must return a number, and not a bool
// SPDX-License-Identifier: Apache-2.0
#include <cairn/cairn.hpp>
#include "preludes/doubled.hpp"
cairn::model const twice{step, adjoint};
#ifdef CAIRN_FIXED
auto const g = cairn::differentiate(twice, 1.0, 10, cairn::at_end(f, df));
#else
auto const g = cairn::differentiate(twice, 1.0, 10, cairn::at_end([](double x) { return x > 0; }, df));
#endif
