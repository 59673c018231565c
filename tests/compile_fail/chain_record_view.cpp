// error: record must be `tape = record\(x\)`, of indexed_stages `record\(x, i\)`, and return the tape, which owns its data, by value
// SPDX-License-Identifier: Apache-2.0
#include <cairn/run/chain.hpp>
#include <span>
#include <vector>

using field = std::vector<double>;
struct layer {
#ifdef CAIRN_FIXED
  using tape = field;
#else
  using tape = std::span<double const>;
#endif
  field forward(field const& x) const { return x; }
  tape record(field const& x) const { return {x.begin(), x.end()}; }
  field const& output(tape const&) const { return y; }
  void backward(tape const& kept, field& bar) const { bar[0] *= kept[0]; }
  field y{1};
};
struct records_another_state {
  field forward(field const& x) const { return x; }
  field record(double x) const { return {x}; }
  field const& output(field const& tape) const { return tape; }
  void backward(field const&, field&) const {}
};
static_assert(!cairn::stage_of<records_another_state, field, field>);
int main() {
  std::vector<layer> layers(2);
  (void)cairn::chain_gradient(layers, field{2.1}, std::vector<cairn::action>{}, field{1});
}
