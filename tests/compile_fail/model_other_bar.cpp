// error: the adjoint of this model takes another type of bar
// SPDX-License-Identifier: Apache-2.0
#include <cairn/cairn.hpp>
#include <vector>
struct rocket { double height = 0, speed = 1; };
using numbers = std::vector<double>;
auto const step = [](rocket& x) { x.height += x.speed; };
auto const adjoint = [](rocket const&, numbers& bar) { bar[1] += bar[0]; };
auto const at_end = cairn::at_end([](rocket const& x) { return x.height; }, [](rocket const&, numbers& bar) { bar[0] += 1; });
#ifdef CAIRN_FIXED
auto const g = cairn::differentiate(cairn::model{step, adjoint, [](rocket const&) { return numbers(2); }}, rocket{}, 10, at_end);
#else
auto const g = cairn::differentiate(cairn::model{step, adjoint}, rocket{}, 10, at_end);
#endif
