// error: a ring holds one state or more
// SPDX-License-Identifier: Apache-2.0
#include <cairn/core/ring.hpp>

#ifdef CAIRN_FIXED
cairn::ring<double, 1> x{1.0};
#else
cairn::ring<double, 0> x;
#endif
