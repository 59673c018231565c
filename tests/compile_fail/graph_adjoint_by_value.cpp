// error: the adjoint must be callable as `adjoint\(inputs..., value, tape, bar, sums...\)`
// SPDX-License-Identifier: Apache-2.0
#include <cairn/run/graph.hpp>
#include <tuple>
#include <vector>

using field = std::vector<double>;
auto const sum_of_class = [](field const& bar, field& sum) { sum = bar; };
static_assert(!cairn::detail::pulls_back<decltype(cairn::adjoint_reads::nothing), decltype(sum_of_class), field, field,
                                         std::tuple<field>, std::tuple<field>>);
int main() {
  cairn::graph_builder net;
  auto const x = net.input<double>();
#ifdef CAIRN_FIXED
  auto const adjoint = [](double bar, double& sum) { sum += bar; };
#else
  auto const adjoint = [](double bar, double sum) { sum += bar; };
#endif
  auto const y = net.add(cairn::adjoint_reads::nothing, [](double v) { return v; }, adjoint, x);
  net.output(y);
  return int(net.size()) - 1;
}
