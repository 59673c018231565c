// error: ranks that run chains and graphs together do not go on from disk; give each a store of its own
// SPDX-License-Identifier: Apache-2.0
#include <cairn/run/chain.hpp>
#include <vector>

#include "preludes/chain_layer.hpp"
std::vector<layer> stages;
struct on_disk { struct keeps_runs {}; };
struct ranks { struct together {}; };
int main() {
#ifdef CAIRN_FIXED
  (void)cairn::chain_gradient(stages, vec{1}, plan{}, vec{1});
#else
  (void)cairn::chain_gradient(stages, vec{1}, plan{}, vec{1}, ranks{}, on_disk{});
#endif
}
