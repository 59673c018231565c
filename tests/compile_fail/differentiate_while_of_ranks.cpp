// error: ranks do not agree on the length of a loop in differentiate
// SPDX-License-Identifier: Apache-2.0
#include <cairn/cairn.hpp>

struct ranks { struct together {}; };
auto const model = cairn::model{[](double& x) { x *= 2; }, [](double, double& bar) { bar *= 2; }};
auto const goes = [](double x) { return x < 100; };
auto const loss = cairn::at_end([](double x) { return x; }, [](double, double& bar) { bar += 1; });
cairn::run_while const loop{goes, cairn::online{3}};
#ifdef CAIRN_FIXED
auto const d = cairn::differentiate(model, 1.0, loop, loss);
#else
auto const d = cairn::differentiate(model, 1.0, loop, loss, ranks{});
#endif
