// error: chain_probe cannot determine how many bytes
// SPDX-License-Identifier: Apache-2.0
#include <cairn/run/chain.hpp>
#include <chrono>
#include <map>
#include <tuple>

struct layer {
  double forward(std::map<int, double> const& x) const { return double(x.size()); }
  double backward(std::map<int, double> const&, double bar) const { return bar; }
};
struct told : std::map<int, double> {
#ifdef CAIRN_FIXED
  std::size_t bytes() const { return sizeof(*this) + size() * 48; }
#endif
};
int main() { (void)cairn::chain_probe<std::chrono::steady_clock>(std::tuple<layer>{}, told{}, 1.0); }
