// error: the view must be callable as `seen = view\(value\)`
// SPDX-License-Identifier: Apache-2.0
#include <cairn/run/graph.hpp>
#include <vector>

using field = std::vector<double>;
int main() {
  cairn::graph_builder net;
  auto const x = net.input<field>();
  auto const pull = [](double bar, cairn::graph_adjoint<field>& sum) { sum += field(1, bar); };
#ifdef CAIRN_FIXED
  auto const first = [](field const& v) { return v[0]; };
#else
  auto const first = [](field& v) { return v[0]; };
#endif
  net.output(net.view(first, pull, x));
  return int(net.size());
}
