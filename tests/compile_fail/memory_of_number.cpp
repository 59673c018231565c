// error: memory is counted over a schedule, for example cairn::revolve\{n, slots\}
// SPDX-License-Identifier: Apache-2.0
#include <cairn/plan/text/memory_curve.hpp>
#include <cairn/schedule/revolve.hpp>

#ifdef CAIRN_FIXED
auto const curve = cairn::memory_over(cairn::revolve{10, 3});
#else
auto const curve = cairn::memory_over(10);
#endif
