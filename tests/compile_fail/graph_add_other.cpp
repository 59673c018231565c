// error: adjoints of this type cannot be added; give it an operator\+=, or use or_make\(...\)
// SPDX-License-Identifier: Apache-2.0
#include <cairn/run/graph.hpp>
#include <vector>

struct pair_of_fields {
  std::vector<double> a, b;
#ifdef CAIRN_FIXED
  pair_of_fields& operator+=(pair_of_fields const&) { return *this; }
#endif
};
int main() {
  cairn::stage_value place;
  cairn::graph_adjoint<pair_of_fields> sum{place};
  sum += pair_of_fields{};
  return sum.has_value() ? 0 : 1;
}
