// error: the adjoint is to be a copy of the state with its numbers set to zero, but this state's numbers are not known
// SPDX-License-Identifier: Apache-2.0
#include <cairn/cairn.hpp>
#include <vector>

struct field : std::vector<double> {  // and a temperature, of which no container knows
  double t = 0;
#ifdef CAIRN_FIXED
  template <class F>
  void visit_numbers(F& f) {
    f(data(), size()), f(&t, std::size_t{1});
  }
  template <class F>
  void visit_numbers(F& f) const {
    f(data(), size()), f(&t, std::size_t{1});
  }
#endif
};
int main() {
  auto const step = [](field& x) { x[0] += x.t; };
  auto const adjoint = [](field const&, field& bar) { bar.t += bar[0]; };
  auto const objective = cairn::at_end([](field const& x) { return x[0]; }, [](field const&, field& bar) { bar[0] += 1; });
  (void)cairn::differentiate(cairn::model{step, adjoint}, field{{1.0}, 2.0}, cairn::revolve{20, 4}, objective);
}
