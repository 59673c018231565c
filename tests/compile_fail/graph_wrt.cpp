// error: the parameters of a graph are inputs, whose adjoints it gives
// SPDX-License-Identifier: Apache-2.0
#include <cairn/run/graph.hpp>
#include <vector>
double const p = 0.9;
double dp = 0;
int main() {
  cairn::graph_builder net;
  std::vector<cairn::action> const plan{cairn::graph_actions::turn(0)};
#ifdef CAIRN_FIXED
  return int(cairn::graph_gradient(net, {}, plan, {}).peak_bytes());
#else
  return int(cairn::graph_gradient(net, {}, plan, {}, cairn::wrt{p, dp}).peak_bytes());
#endif
}
