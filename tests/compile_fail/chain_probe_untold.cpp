// error: chain_probe cannot determine how many bytes
// SPDX-License-Identifier: Apache-2.0
#include <cairn/run/chain.hpp>
#include <chrono>
#include <memory>
#include <vector>

using plan = std::vector<cairn::action>;
struct untold {
  std::unique_ptr<double> value;
#ifdef CAIRN_FIXED
  std::size_t bytes() const { return 100; }
#else
#endif
};
struct layer {
  untold forward(untold const&) const { return {}; }
  double backward(untold const&, double bar) const { return bar; }
};
int main() { (void)cairn::chain_probe<std::chrono::steady_clock>(std::vector<layer>(3), untold{}, 1.0); }
