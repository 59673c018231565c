// error: a state that operations use must be an object that can be copied and owns its data
// SPDX-License-Identifier: Apache-2.0
#include <cairn/run/graph.hpp>
#include <random>

int main() {
  cairn::graph_builder net;
#ifdef CAIRN_FIXED
  std::mt19937 dice;
#else
  std::mt19937 const dice;
#endif
  (void)net.state(dice);
  return int(net.size());
}
