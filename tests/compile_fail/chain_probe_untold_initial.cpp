// error: chain_probe cannot determine how many bytes
// SPDX-License-Identifier: Apache-2.0
#include <cairn/run/chain.hpp>
#include <chrono>
#include <filesystem>
#include <tuple>
#include <vector>

struct layer {
  double forward(std::filesystem::path const& x) const { return double(x.empty()); }
  double backward(std::filesystem::path const&, double bar) const { return bar; }
};
struct told : std::filesystem::path {
#ifdef CAIRN_FIXED
  std::size_t bytes() const { return sizeof(*this) + native().size(); }
#endif
};
using untold = std::filesystem::path;
struct likewise {  // a list, whose states are all of the type of the initial one
  untold forward(untold const& x) const { return x; }
  double backward(untold const&, double bar) const { return bar; }
};
static_assert(!cairn::detail::weighs_all<cairn::detail::chain_list<cairn::detail::chain_given_for<std::vector<likewise>, cairn::detail::no_wrt>, untold, double>>);
int main() { (void)cairn::chain_probe<std::chrono::steady_clock>(std::tuple<layer>{}, told{}, 1.0); }
