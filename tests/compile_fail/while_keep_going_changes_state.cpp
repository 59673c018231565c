// error: keep_going must be `keep_going\(x\)` or `keep_going\(x, i\)`, with x const&, and return bool
// SPDX-License-Identifier: Apache-2.0
#include <cairn/cairn.hpp>
#include <cairn/run/while.hpp>
#include <cairn/schedule/online.hpp>

auto const step = [](double& x, cairn::step_index) { x /= 2; return x > 3; };
#ifdef CAIRN_FIXED
auto const keep_going = [](double const& x) { return x > 1; };
#else
auto const keep_going = [](double& x) { return (x -= 1) > 1; };
#endif
static_assert(!cairn::detail::answers_bool<double> && !cairn::detail::answers_bool<double const*>);
auto const run = cairn::checkpointed_while(step, 64.0, keep_going, cairn::online{3});
