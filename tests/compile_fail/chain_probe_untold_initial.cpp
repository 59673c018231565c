// error: chain_probe cannot determine how many bytes
// SPDX-License-Identifier: Apache-2.0
#include <cairn/run/chain.hpp>
#include <chrono>
#include <map>
#include <tuple>
#include <vector>

struct layer {
  double forward(std::map<int, double> const& x) const { return double(x.size()); }
  double backward(std::map<int, double> const&, double bar) const { return bar; }
};
struct told : std::map<int, double> {
#ifdef CAIRN_FIXED
  std::size_t bytes() const { return sizeof(*this) + size() * 48; }
#endif
};
using untold = std::map<int, double>;
struct likewise {  // a list, whose states are all of the type of the initial one
  untold forward(untold const& x) const { return x; }
  double backward(untold const&, double bar) const { return bar; }
};
static_assert(!cairn::detail::weighs_all<cairn::detail::chain_list<std::vector<likewise>, untold, double>>);
int main() { (void)cairn::chain_probe<std::chrono::steady_clock>(std::tuple<layer>{}, told{}, 1.0); }
