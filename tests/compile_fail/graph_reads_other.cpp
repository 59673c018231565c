// error: adjoint_reads::input names a place at which the operation has no input; the first is 0
// SPDX-License-Identifier: Apache-2.0
#include <cairn/run/graph.hpp>

namespace reads = cairn::adjoint_reads;
int main() {
  cairn::graph_builder net;
  auto const x = net.input<double>();
#ifdef CAIRN_FIXED
  constexpr auto named = reads::input<1>;
#else
  constexpr auto named = reads::input<2>;
#endif
  auto const y = net.add(named, [](double a, double b) { return a + b * b; },
                         [](double b, double bar, double& abar, double& bbar) { abar += bar, bbar += 2 * b * bar; }, x, x);
  net.output(y);
  return int(net.size()) - 1;
}
