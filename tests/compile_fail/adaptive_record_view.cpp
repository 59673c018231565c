// error: the record that `first` returns is a pointer, a view or an expression of data that changes later
// SPDX-License-Identifier: Apache-2.0
#include <cairn/run/with/adaptive.hpp>
#include <span>
#include <vector>

using field = std::vector<double>;
#ifdef CAIRN_FIXED
using chosen = field;
#else
using chosen = std::span<double const>;
#endif
auto const first = [](field const& x) { return chosen(x.begin(), x.end()); };
cairn::adaptive loop{first, [](field& x, chosen const& c) { x[0] += c[0]; }};
