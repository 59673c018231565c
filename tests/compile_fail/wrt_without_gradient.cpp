// error: needs the place of the gradient, too
// SPDX-License-Identifier: Apache-2.0
#include <cairn/cairn.hpp>
double p = 1, dp = 0;
#ifdef CAIRN_FIXED
auto const by = cairn::wrt{p, dp};
#else
auto const by = cairn::wrt{p};
#endif
