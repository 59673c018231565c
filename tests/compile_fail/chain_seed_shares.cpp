// error: a copy of this seed would share its data with the caller's, which the backward sweep changes
// SPDX-License-Identifier: Apache-2.0
#include <cairn/run/chain.hpp>
#include <cmath>
#include <memory>
#include <utility>
#include <vector>

using number = std::shared_ptr<double>;
auto const layer =
    cairn::stage{[](double x) { return std::sin(x); }, [](double x, number& bar) { *bar *= std::cos(x); }};
int main() {
  std::vector layers(2, layer);
  number seed = std::make_shared<double>(1.0);
#ifdef CAIRN_FIXED
  (void)cairn::chain_gradient(layers, 2.1, std::vector<cairn::action>{}, std::move(seed));
#else
  (void)cairn::chain_gradient(layers, 2.1, std::vector<cairn::action>{}, seed);
#endif
}
