// error: the first argument must be a model
// SPDX-License-Identifier: Apache-2.0
#include <cairn/cairn.hpp>
#include "preludes/doubled.hpp"
#ifdef CAIRN_FIXED
auto const g = cairn::differentiate(cairn::model{step, adjoint}, 1.0, 10, cairn::at_end(f, df));
#else
auto const g = cairn::differentiate(step, 1.0, 10, cairn::at_end(f, df));
#endif
