// SPDX-License-Identifier: Apache-2.0
// An LSTM over 1,000 steps, batch 16, 64 inputs, 256 units; the gradient of sum h^2 with respect to both weight
// matrices and the bias.
#include <Eigen/Core>
#include "beside.hpp"
#include "peer.hpp"

namespace {

using cairn::step_index;
constexpr step_index steps = 1000;
constexpr Eigen::Index batch = 16, inputs = 64, units = 256,
                       gates = 4 * units;  // gates in the order input, forget, cell, output
using matrix = Eigen::MatrixXf;
using view = Eigen::Map<matrix>;
using const_view = Eigen::Map<matrix const>;

/// h and c, one after the other.
using state = std::vector<float>;
constexpr std::size_t half = std::size_t(units * batch);
const_view hidden(state const& x) { return {x.data(), units, batch}; }
const_view cell(state const& x) { return {x.data() + half, units, batch}; }

struct parameters {
  matrix wx = matrix(gates, inputs), wh = matrix(gates, units), b = matrix(gates, 1);
  template <class F>
  void each(F f) {
    for (matrix* m : {&wx, &wh, &b})
      for (float& v : m->reshaped()) f(v);
  }
};
struct problem {
  parameters p;
  matrix wh_transposed;
  std::vector<float> x = std::vector<float>(std::size_t(steps * inputs * batch));
  problem() {
    std::uint32_t k = 0;
    p.each([&](float& v) { v = peer::noise(k++) / 8; });
    wh_transposed = p.wh.transpose();
    for (std::size_t i = 0; i < x.size(); ++i) x[i] = 4 * peer::noise(1'000'000 + std::uint32_t(i));
  }
  /// The inputs of the steps [first, last) side by side.
  [[nodiscard]] const_view input(step_index first, step_index last) const {
    return {x.data() + first * inputs * batch, inputs, (last - first) * batch};
  }
};

/// What the adjoint of a run of steps reads: activated gates, or in reverse their adjoints, and the states.
struct tape {
  matrix g, h, c;
  explicit tape(step_index most) : g(gates, most * batch), h(units, most * batch), c(units, (most + 1) * batch) {}
};
struct bar_state {
  matrix h, c;
};

/// Turns the sums of `g` into activations.
template <class G>
void activate(G&& g) {
  g.topRows(2 * units) = g.topRows(2 * units).array().logistic();
  g.middleRows(2 * units, units) = g.middleRows(2 * units, units).array().tanh();
  g.bottomRows(units) = g.bottomRows(units).array().logistic();
}
void step(state& x, problem const& of, step_index i, matrix& g) {
  g.noalias() = of.p.wx * of.input(i, i + 1);
  g.noalias() += of.p.wh * hidden(x);
  g.colwise() += of.p.b.col(0);
  activate(g);
  view h(x.data(), units, batch), c(x.data() + half, units, batch);
  c.array() = g.middleRows(units, units).array() * c.array() +
              g.topRows(units).array() * g.middleRows(2 * units, units).array();
  h.array() = g.bottomRows(units).array() * c.array().tanh();
}
/// The adjoint of the steps [first, last); weight gradients are one product for all of them.
void back(state const& x, bar_state& bar, problem const& of, step_index first, step_index last, tape& t,
          parameters& sum) {
  Eigen::Index const count = last - first;
  auto const at = [](matrix& m, Eigen::Index k) { return m.middleCols(k * batch, batch); };
  t.g.leftCols(count * batch).noalias() = of.p.wx * of.input(first, last);
  at(t.h, 0) = hidden(x);
  at(t.c, 0) = cell(x);
  for (Eigen::Index k = 0; k < count; ++k) {
    auto g = at(t.g, k);
    g.noalias() += of.p.wh * at(t.h, k);
    g.colwise() += of.p.b.col(0);
    activate(g);
    at(t.c, k + 1).array() = g.middleRows(units, units).array() * at(t.c, k).array() +
                             g.topRows(units).array() * g.middleRows(2 * units, units).array();
    if (k + 1 < count) at(t.h, k + 1).array() = g.bottomRows(units).array() * at(t.c, k + 1).array().tanh();
  }
  for (Eigen::Index k = count; k-- > 0;) {
    auto g = at(t.g, k);
    for (Eigen::Index j = 0; j < batch; ++j) {
      auto const in = g.col(j).segment(0, units).array(), forget = g.col(j).segment(units, units).array();
      auto const candidate = g.col(j).segment(2 * units, units).array(),
                 out = g.col(j).segment(3 * units, units).array();
      auto const next = at(t.c, k + 1).col(j).array(), before = at(t.c, k).col(j).array();
      Eigen::Array<float, units, 1> const squashed = next.tanh(),
                                          through = bar.c.col(j).array() +
                                                    bar.h.col(j).array() * out * (1 - squashed.square());
      Eigen::Array<float, units, 1> const to_in = through * candidate * in * (1 - in),
                                          to_candidate = through * in * (1 - candidate.square());
      bar.c.col(j) = through * forget;
      g.col(j).segment(3 * units, units) = bar.h.col(j).array() * squashed * out * (1 - out);
      g.col(j).segment(units, units) = through * before * forget * (1 - forget);
      g.col(j).segment(0, units) = to_in;
      g.col(j).segment(2 * units, units) = to_candidate;
    }
    bar.h.noalias() = of.wh_transposed * g;
  }
  auto const g = t.g.leftCols(count * batch);
  sum.wx.noalias() += g * of.input(first, last).transpose();
  sum.wh.noalias() += g * t.h.leftCols(count * batch).transpose();
  sum.b += g.rowwise().sum();
}

/// \param more  make the last arguments of a gradient
template <class Plan, class... Last>
peer::method way(char const* name, problem const& given, Plan const& plan, Last... more) {
  step_index const leaf_steps = plan.leaf();
  cairn::wide const bytes = sizeof(state) + 2 * half * sizeof(float),
                    tape_bytes = cairn::wide(leaf_steps * (gates + 2 * units) + units) * batch * sizeof(float);
  auto const cost = cairn::estimate(plan, {.state_bytes = bytes,
                                           .state_inline_bytes = sizeof(state),
                                           .initial_bytes = bytes,
                                           .adjoint_bytes = sizeof(bar_state) + 2 * half * sizeof(float),
                                           .tape_bytes = tape_bytes,
                                           .form = {cairn::step_form::in_place, cairn::adjoint_form::leaf}});
  return {name, sizeof...(Last) == 0 ? cost.peak_bytes : 0, [=, &given]() mutable {
            tape work(leaf_steps);
            parameters sum;
            sum.each([](float& v) { v = 0; });
            matrix g(gates, batch);
            auto const advance = [&](state& x, step_index i) { step(x, given, i, g); };
            auto const adjoint = [&](state const& x, bar_state& bar, step_index first, step_index last) {
              back(x, bar, given, first, last, work, sum);
            };
            auto const seed = [](state const& x) { return bar_state{2 * hidden(x), matrix::Zero(units, batch)}; };
            cairn::gradient(cairn::concurrent(advance), state(2 * half), plan, seed, cairn::concurrent(adjoint),
                            more()...);
            std::vector<float> flat;
            flat.reserve(std::size_t(gates * (inputs + units + 1)));
            sum.each([&](float v) { flat.push_back(v); });
            return flat;
          }};
}

}  // namespace

int main(int argc, char** argv) {
  problem const given;
  constexpr step_index leaf_steps = 20;
  return peer::serve(argc, argv,
                     {way("store_all", given, cairn::store_all(steps)), way("uniform", given, cairn::uniform{steps}),
                      way("revolve", given, cairn::revolve{steps, 50}),
                      way("threads", given, cairn::revolve{steps, 38}, peer::helper(12)),
                      way("disk", given, cairn::multistage{steps, 25, 25}, peer::files(argc > 2 ? argv[2] : "")),
                      way("leaf", given, cairn::leaves{steps, leaf_steps, cairn::store_all(steps / leaf_steps)})});
}
