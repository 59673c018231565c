// error: the operation must return its value, which owns its data
// SPDX-License-Identifier: Apache-2.0
#include <cairn/run/graph.hpp>
#include <vector>

using field = std::vector<double>;
namespace reads = cairn::adjoint_reads;
int main() {
  cairn::graph_builder net;
  auto const x = net.input<field>();
#ifdef CAIRN_FIXED
  auto const forward = [](field const& v) { return v.front(); };
#else
  auto const forward = [](field const& v) { return v.data(); };
#endif
  auto const y = net.add(reads::nothing, forward, [](auto const&, cairn::graph_adjoint<field>&) {}, x);
  net.output(y);
  return int(net.size()) - 1;
}
