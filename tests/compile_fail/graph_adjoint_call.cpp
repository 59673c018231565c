// error: the adjoint must be callable as `adjoint\(inputs..., value, tape, bar, sums...\)`
// SPDX-License-Identifier: Apache-2.0
#include <cairn/run/graph.hpp>
#include <vector>

using field = std::vector<double>;
namespace reads = cairn::adjoint_reads;
int main() {
  cairn::graph_builder net;
  auto const x = net.input<field>();
#ifdef CAIRN_FIXED
  auto const adjoint = [](field const& bar, cairn::graph_adjoint<field>& sum) { sum += bar; };
#else
  auto const adjoint = [](field const& bar, field& sum) { sum = bar; };
#endif
  auto const y = net.add(reads::nothing, [](field const& v) { return v; }, adjoint, x);
  net.output(y);
  return int(net.size()) - 1;
}
