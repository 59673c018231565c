// error: two arguments of the same kind follow the seeds of a graph; give each kind once
// SPDX-License-Identifier: Apache-2.0
#include <cairn/run/graph.hpp>
#include <vector>

int main() {
  cairn::graph_builder net;
  std::vector<cairn::action> const plan{cairn::graph_actions::turn(0)};
  auto const observer = [](cairn::event const&) {};
#ifdef CAIRN_FIXED
  cairn::sweep_failure other;
#else
  auto const other = [](cairn::event const&) {};
#endif
  return int(cairn::graph_gradient(net, {}, plan, {}, observer, other).peak_bytes());
}
