// error: the plan of a graph must be a list of actions, or have a member actions that is one
// SPDX-License-Identifier: Apache-2.0
#include <cairn/run/graph.hpp>
#include <vector>

using field = std::vector<double>;
namespace reads = cairn::adjoint_reads;
int main() {
  cairn::graph_builder net;
#ifdef CAIRN_FIXED
  std::vector<cairn::action> const plan{cairn::graph_actions::turn(0)};
#else
  int const plan = 512;
#endif
  return int(cairn::graph_gradient(net, {}, plan, {}).peak_bytes());
}
