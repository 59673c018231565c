// SPDX-License-Identifier: Apache-2.0
// The demo's LSTM: its hand-written adjoint against central differences in double precision, through the executor and
// leaves.
#include <cairn/adapt/eigen.hpp>
#include <cairn/cairn.hpp>
#include <cairn/run/check/check_adjoint.hpp>
#include "../../examples/demo/lstm.hpp"
#include "support/catch.hpp"

using cairn::step_index;
namespace {

using real = double;
constexpr Eigen::Index hidden = 5, stream_count = 3;
constexpr char text[] =
    "It is a truth universally acknowledged, that a single man in possession of a good fortune, must be in want of a "
    "wife.";

struct model {
  demo::streams streams{std::string{text}, int(stream_count)};
  int symbols = int(streams.alphabet().size());
  step_index steps = streams.steps();

  struct result {
    real loss;
    Eigen::VectorXd parameters;
    demo::lstm_state<real> initial;
  };
  /// Loss, and its gradient with respect to all parameters and to the initial state.
  [[nodiscard]] result gradient(demo::parameters<real> const& weights, demo::lstm_state<real> const& x0,
                                step_index leaf) const {
    demo::lstm_step<real> step(weights, streams);
    demo::objective<real> objective{demo::parameters<real>{hidden, symbols}};
    demo::lstm_adjoint<real> adjoint(weights, streams, objective, leaf);
    demo::lstm_state<real> const seed{demo::matrix<real>::Zero(hidden, stream_count),
                                      demo::matrix<real>::Zero(hidden, stream_count)};
    auto bar = cairn::gradient(step, x0, cairn::leaves{steps, leaf, cairn::revolve{(steps + leaf - 1) / leaf, 4}}, seed,
                               adjoint);
    return {objective.loss, objective.gradient.all(), std::move(bar)};
  }
};

}  // namespace

TEST_CASE("the adjoint of the demo's LSTM is the derivative of its loss, for any leaf", "[demo]") {
  model const m;
  demo::parameters<real> weights(hidden, m.symbols);
  for (Eigen::Index k = 0; k < weights.all().size(); ++k) weights.all()[k] = 0.5 * std::sin(1.7 * double(k) + 0.3);
  demo::lstm_state<real> x0{demo::matrix<real>::Constant(hidden, stream_count, 0.25),
                            demo::matrix<real>::Constant(hidden, stream_count, -0.5)};
  auto const exact = m.gradient(weights, x0, 1);

  demo::lstm_step<real> step(weights, m.streams);
  demo::objective<real> objective{demo::parameters<real>{hidden, m.symbols}};
  demo::lstm_adjoint<real> adjoint(weights, m.streams, objective, 1);
  auto const report = cairn::check_adjoint(step, adjoint, x0, m.steps);
  INFO(report.text());
  CHECK(report.passed());

  // Central differences of step h have an error of about h^2 of third derivatives (order 1) and of loss * 1e-16 / h
  // from rounding.
  real const h = 1e-5, tolerance = 1e-7;
  real worst = 0;
  for (Eigen::Index k = 0; k < weights.all().size(); k += 7) {
    auto moved = weights;
    moved.all()[k] += h;
    real const up = m.gradient(moved, x0, 1).loss;
    moved.all()[k] -= 2 * h;
    real const down = m.gradient(moved, x0, 1).loss;
    worst = std::max(worst, std::abs((up - down) / (2 * h) - exact.parameters[k]));
  }
  for (Eigen::Index k = 0; k < hidden * stream_count; ++k) {
    auto const difference = [&](auto part) {
      auto moved = x0;
      part(moved)(k) += h;
      real const up = m.gradient(weights, moved, 1).loss;
      part(moved)(k) -= 2 * h;
      return (up - m.gradient(weights, moved, 1).loss) / (2 * h);
    };
    worst = std::max(
        worst, std::abs(difference([](auto& x) -> auto& { return std::get<0>(x); }) - std::get<0>(exact.initial)(k)));
    worst = std::max(
        worst, std::abs(difference([](auto& x) -> auto& { return std::get<1>(x); }) - std::get<1>(exact.initial)(k)));
  }
  CHECK(worst < tolerance);
  CHECK(exact.parameters.cwiseAbs().maxCoeff() > 0.1);

  for (step_index const leaf : {4, 100}) {
    auto const other = m.gradient(weights, x0, leaf);
    CHECK(other.parameters == exact.parameters);
    CHECK(std::get<0>(other.initial) == std::get<0>(exact.initial));
    CHECK(std::abs(other.loss - exact.loss) < 1e-12 * exact.loss);
  }
}
