// error: a chain of cairn::any_stage cannot run on disk
// SPDX-License-Identifier: Apache-2.0
#include <cairn/run/chain.hpp>
#include <vector>

std::vector<cairn::any_stage> stages;
#ifdef CAIRN_FIXED
auto const last = [](cairn::event const&) {};
#else
struct on_disk { struct keeps_runs {}; } const last;
#endif
int main() {
  auto const g = cairn::chain_gradient(stages, 1.0, std::vector<cairn::action>{}, 1.0, last);
  return g.has_value() ? 0 : 1;
}
