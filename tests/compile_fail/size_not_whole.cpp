// error: this size is not a whole number of bytes
// SPDX-License-Identifier: Apache-2.0
#include <cairn/core/bytes.hpp>

using namespace cairn::literals;
#ifdef CAIRN_FIXED
auto const budget = 4_GB;
#else
auto const budget = 1.0001_B;
#endif
