// SPDX-License-Identifier: Apache-2.0
// The adjoint of a step by Enzyme, to which docs/adjoints.md leads, in a loop of 200 steps of Lorenz-63 under
// checkpoints; beside it an adjoint by hand over stored states. Enzyme's clang compiles it, and puts its
// `enzyme::tensor` in front: see enzyme.py.
#include <array>
#include <cmath>
#include <vector>
#include <cairn/cairn.hpp>

using state = std::array<double, 3>;
struct params {
  double sigma = 10, rho = 28, beta = 8.0 / 3;
};
struct bar_type {
  state of_state{};
  params of_params{};
};
constexpr cairn::step_index steps = 200;

double size_of_step(long i) { return 1e-3 * (1 + 0.5 * std::sin(0.1 * double(i))); }

void step(double* x, params const* p, long i) {
  double const slope[3] = {p->sigma * (x[1] - x[0]), x[0] * (p->rho - x[2]) - x[1], x[0] * x[1] - p->beta * x[2]};
  for (int k = 0; k < 3; ++k) x[k] += size_of_step(i) * slope[k];
}

extern int enzyme_dup, enzyme_const;
template <class... A>
void __enzyme_autodiff(void*, A...);

bar_type by_enzyme(params& p, state const& x0, bar_type const& seed) {
  auto adjoint = [&](state const& x, bar_type& bar, cairn::step_index i) {
    state x1 = x;  // Enzyme runs the step on x1, and takes bar.of_state from after the step to before it
    __enzyme_autodiff((void*)step, enzyme_dup, x1.data(), bar.of_state.data(), enzyme_dup, &p, &bar.of_params,
                      enzyme_const, i);
  };
  return cairn::gradient([&](state& x, cairn::step_index i) { step(x.data(), &p, i); }, x0, cairn::revolve{steps, 4},
                         seed, adjoint);
}

bar_type by_hand(params const& p, state const& x0, bar_type bar) {
  std::vector<state> all{x0};
  for (long i = 0; i < steps; ++i) {
    all.push_back(all.back());
    step(all.back().data(), &p, i);
  }
  for (long i = steps; i-- > 0;) {
    auto const& x = all[std::size_t(i)];
    state& b = bar.of_state;
    double const h = size_of_step(i);
    state const before{b[0] + h * (-p.sigma * b[0] + (p.rho - x[2]) * b[1] + x[1] * b[2]),
                       b[1] + h * (p.sigma * b[0] - b[1] + x[0] * b[2]), b[2] + h * (-x[0] * b[1] - p.beta * b[2])};
    bar.of_params.sigma += h * (x[1] - x[0]) * b[0];
    bar.of_params.rho += h * x[0] * b[1];
    bar.of_params.beta -= h * x[2] * b[2];
    b = before;
  }
  return bar;
}

/// \param out  the gradient by Enzyme, then by hand   \param in  the initial state
void both(enzyme::tensor<double, 12>& out, enzyme::tensor<double, 3> const& in) {
  params p;
  state const x0{in[0], in[1], in[2]};
  bar_type const seed{{1, 0, 0}, {0, 0, 0}};
  unsigned k = 0;
  for (bar_type const& bar : {by_enzyme(p, x0, seed), by_hand(p, x0, seed)})
    for (double const each : {bar.of_state[0], bar.of_state[1], bar.of_state[2], bar.of_params.sigma, bar.of_params.rho,
                              bar.of_params.beta})
      out[k++] = each;
}
