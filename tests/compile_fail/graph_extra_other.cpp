// error: what follows the seeds of a graph may be, in any order, an observer, cairn::sweep_options, and variables of type cairn::sweep_failure, cairn::graph_workspace and cairn::sweep_report; one argument is none of these
// SPDX-License-Identifier: Apache-2.0
#include <cairn/run/graph.hpp>
#include <vector>

using field = std::vector<double>;
namespace reads = cairn::adjoint_reads;
int main() {
  cairn::graph_builder net;
  std::vector<cairn::action> const plan{cairn::graph_actions::turn(0)};
#ifdef CAIRN_FIXED
  cairn::sweep_failure where;
#else
  int where = 0;
#endif
  return int(cairn::graph_gradient(net, {}, plan, {}, where).peak_bytes());
}
