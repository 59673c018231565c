// error: write a size as a decimal number and a unit
// SPDX-License-Identifier: Apache-2.0
#include <cairn/core/bytes.hpp>

using namespace cairn::literals;
#ifdef CAIRN_FIXED
auto const budget = 4_GB;
#else
auto const budget = 0x10_GB;
#endif
