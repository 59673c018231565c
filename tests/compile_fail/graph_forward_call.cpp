// error: the operation must be callable as `value = forward\(inputs...\)`, with a tape as `value = forward\(inputs..., Tape\* tape\)`
// SPDX-License-Identifier: Apache-2.0
#include <cairn/run/graph.hpp>
#include <vector>

using field = std::vector<double>;
namespace reads = cairn::adjoint_reads;
int main() {
  cairn::graph_builder net;
  auto const x = net.input<field>();
#ifdef CAIRN_FIXED
  auto const forward = [](field const& v, int* tape) { return tape != nullptr ? field(v.size()) : v; };
#else
  auto const forward = [](field const& v) { return v; };
#endif
  auto const y = net.add(reads::tape<int>, forward, [](int, field const& bar, cairn::graph_adjoint<field>& sum) { sum += bar; }, x);
  net.output(y);
  return int(net.size()) - 1;
}
