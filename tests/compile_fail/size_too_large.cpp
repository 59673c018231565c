// error: this size does not fit 64 bits
// SPDX-License-Identifier: Apache-2.0
#include <cairn/core/bytes.hpp>

using namespace cairn::literals;
#ifdef CAIRN_FIXED
auto const budget = 4_GB;
#else
auto const budget = 20_EB;
#endif
