// error: actions are written of a schedule, for example cairn::revolve\{n, slots\}
// SPDX-License-Identifier: Apache-2.0
#include <cairn/plan/text/actions_csv.hpp>
#include <cairn/schedule/revolve.hpp>

#ifdef CAIRN_FIXED
auto const text = cairn::actions_csv(cairn::revolve{10, 3});
#else
auto const text = cairn::actions_csv(10);
#endif
