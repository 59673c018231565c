// SPDX-License-Identifier: Apache-2.0
// The gradient of a time loop over a plain struct, with an adjoint written by hand.
//
// A pendulum with drag swings 10,000 steps. How does its last angle depend on where it started and on the drag?
// Keeping every state would take 10,000 of them; here at most 10 are kept and the others are computed again.

#include <cmath>
#include <cstdio>
#include <vector>

#include <cairn/cairn.hpp>
#include <cairn/run/check/check_adjoint.hpp>

struct pendulum {
  double angle, speed;
};

constexpr double dt = 1e-3;

void swing(pendulum& x, double drag) {
  x.speed += dt * (-std::sin(x.angle) - drag * x.speed);
  x.angle += dt * x.speed;
}

/// Turns `bar`, the derivative of the result by the state after a step, into that by the state `x` before it.
void swing_adjoint(pendulum const& x, pendulum& bar, double drag, double& drag_bar) {
  double const speed_bar = bar.speed + dt * bar.angle;  // the new speed also moves the new angle
  bar.angle -= dt * std::cos(x.angle) * speed_bar;
  bar.speed = speed_bar * (1 - dt * drag);
  drag_bar -= dt * x.speed * speed_bar;
}

int main() {
  cairn::step_index const n = 10'000;
  pendulum const x0{1.0, 0.0};
  pendulum const seed{1.0, 0.0};  // the result is the last angle: its derivative with respect to the final state
  double const drag = 0.2;

  // Is the adjoint that of the step? Wrong ones are the most common mistake; this check names the first step that is
  // wrong, and how wrong.
  double ignored = 0;
  auto const report =
      cairn::check_adjoint([&](pendulum& x) { swing(x, drag); },
                           [&](pendulum const& x, pendulum& x_bar) { swing_adjoint(x, x_bar, drag, ignored); }, x0, n);
  std::printf("%s\n", report.text().c_str());

  // The derivative with respect to a parameter is a sum over all steps: the call gets the parameter and a place for it.
  double drag_bar = 0;
  auto const bar =
      cairn::gradient(swing, x0, cairn::revolve{n, 10}, seed, swing_adjoint, cairn::wrt{drag, drag_bar});
  std::printf("d/d first angle %.12f, d/d first speed %.12f, d/d drag %.12f\n", bar.angle, bar.speed,
              drag_bar);

  // The same with every state kept.
  std::vector<pendulum> all{x0};
  for (cairn::step_index i = 0; i < n; ++i) {
    all.push_back(all.back());
    swing(all.back(), drag);
  }
  pendulum want = seed;
  double want_drag = 0;
  for (auto i = n; i-- > 0;) swing_adjoint(all[std::size_t(i)], want, drag, want_drag);

  // Not ==: a compiler may round this loop's copy of `swing` differently (fused multiply-add).
  auto const close = [](double a, double b) { return std::abs(a - b) <= 1e-12 * std::abs(b); };
  return report.passed() && close(bar.angle, want.angle) && close(bar.speed, want.speed) && close(drag_bar, want_drag)
             ? 0
             : 1;
}
