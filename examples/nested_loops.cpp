// A loop in a loop: a year of days, each of 288 steps of five minutes. Whole days are checkpointed by one plan;
// when a day is reversed, its own steps are checkpointed by another. At most 6 + 5 of 105,120 states are kept.

#include <cmath>
#include <cstdio>
#include <numbers>
#include <vector>

#include <cairn/cairn.hpp>

struct pond {
  double algae, fish;
};

constexpr double dt = 1.0 / 288;
constexpr cairn::step_index days = 365, steps_a_day = 288;

/// Light by the number of the step, counted through the whole year.
double light(cairn::step_index i) { return 1 + 0.5 * std::sin(2 * std::numbers::pi * double(i) * dt); }

void grow(pond& x, cairn::step_index i) {
  double const eaten = x.algae * x.fish;
  x.algae += dt * (0.8 * light(i) * x.algae - 0.5 * eaten);
  x.fish += dt * (0.4 * eaten - 0.6 * x.fish);
}

void grow_adjoint(pond const& x, pond& bar, cairn::step_index i) {
  double const eaten_bar = dt * (0.4 * bar.fish - 0.5 * bar.algae);
  bar.algae += dt * 0.8 * light(i) * bar.algae + x.fish * eaten_bar;
  bar.fish += -dt * 0.6 * bar.fish + x.algae * eaten_bar;
}

int main() {
  pond const x0{1.0, 0.6};
  pond const seed{0.0, 1.0};  // how does the last day's fish depend on the first day's pond?

  cairn::nested day{cairn::revolve{steps_a_day, 5}, grow, grow_adjoint};
  auto const bar = cairn::gradient(day.step, x0, cairn::revolve{days, 6}, seed, day.adjoint);
  std::printf("by algae %.12g, by fish %.12g\n", bar.algae, bar.fish);

  // The same in one loop, with every state kept.
  std::vector<pond> all{x0};
  for (cairn::step_index i = 0; i < days * steps_a_day; ++i) {
    all.push_back(all.back());
    grow(all.back(), i);
  }
  pond want = seed;
  for (auto i = days * steps_a_day; i-- > 0;) grow_adjoint(all[std::size_t(i)], want, i);

  // Not ==: a compiler may round this loop's copy of `grow` differently (fused multiply-add).
  auto const close = [](double a, double b) { return std::abs(a - b) <= 1e-9 * std::abs(b); };
  return close(bar.algae, want.algae) && close(bar.fish, want.fish) ? 0 : 1;
}
