// error: this state has bit-fields, packed members or a union, which cannot be looked into
// SPDX-License-Identifier: Apache-2.0
#include <cairn/cairn.hpp>
#include <vector>

#ifdef CAIRN_FIXED
struct field {
  std::vector<double> u;
  double x;
};
#else
struct field {
  std::vector<double> u;
  union {
    double x;
    int k;
  };
};
#endif
auto const step = [](field& x) { x.u[0] *= 2; };
auto const adjoint = [](field const&, std::vector<double>& bar) { bar[0] *= 2; };
auto const seed = [](field const& x) { return x.u; };
int main() {
  auto run = cairn::checkpointed_loop(step, field{}, 10);
  double sum = run.final_state().u[0];
  for (auto [i, x] : run.backward()) sum += x.u[0] + double(i);
  return run.reverse(seed, adjoint)[0] + sum > 0 ? 0 : 1;
}
