// error: a picture is drawn of a schedule, for example cairn::revolve\{n, slots\}
// SPDX-License-Identifier: Apache-2.0
#include <cairn/plan/text/space_time.hpp>
#include <cairn/schedule/revolve.hpp>

#ifdef CAIRN_FIXED
auto const text = cairn::space_time_text(cairn::revolve{10, 3});
#else
auto const text = cairn::space_time_text(10);
#endif
