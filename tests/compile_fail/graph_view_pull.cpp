// error: the adjoint of a view must be callable as `pull\(bar, sum\)`
// SPDX-License-Identifier: Apache-2.0
#include <cairn/run/graph.hpp>
#include <vector>

using field = std::vector<double>;
namespace reads = cairn::adjoint_reads;
int main() {
  cairn::graph_builder net;
  auto const x = net.input<field>();
#ifdef CAIRN_FIXED
  auto const pull = [](double bar, cairn::graph_adjoint<field>& sum) { sum += field(1, bar); };
#else
  auto const pull = [](double bar, field& sum) { sum[0] += bar; };
#endif
  auto const first = net.view([](field const& v) { return v[0]; }, pull, x);
  net.output(first);
  return int(net.size());
}
