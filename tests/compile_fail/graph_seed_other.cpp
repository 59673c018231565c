// error: the seed of an output must be its adjoint, or a function of the output that returns it
// SPDX-License-Identifier: Apache-2.0
#include <cairn/run/graph.hpp>
#include <vector>

using field = std::vector<double>;
namespace reads = cairn::adjoint_reads;
int main() {
  cairn::graph_builder net;
  auto const x = net.input<field>();
#ifdef CAIRN_FIXED
  field const bar(3, 1.0);
#else
  char const* const bar = "one";
#endif
  return x.seed(bar).number;
}
