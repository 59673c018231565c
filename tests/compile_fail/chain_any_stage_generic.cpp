// error: cannot determine which state this stage takes
// SPDX-License-Identifier: Apache-2.0
#include <cairn/run/chain.hpp>
#include <vector>

using vec = std::vector<double>;
using plan = std::vector<cairn::action>;
cairn::stage const generic{[](auto const& x) { return x; }, [](auto const&, auto const& bar) { return bar; }};
#ifdef CAIRN_FIXED
cairn::any_stage stage = cairn::any_stage::taking<vec>(generic);
#else
cairn::any_stage stage{generic};
#endif
