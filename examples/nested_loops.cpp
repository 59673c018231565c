// SPDX-License-Identifier: Apache-2.0
// A loop in a loop, with a `while` and an `if` inside: 30 days, each of 288 steps of five minutes. Whole days are
// checkpointed by one plan; when a day is reversed, its own steps are checkpointed by another. At most 4 + 5 of 8,640
// states are kept.

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdio>
#include <numbers>

#include <cairn/cairn.hpp>
#include <cairn/run/check/check_adjoint.hpp>

struct pond {
  double algae, fish;
  bool operator==(pond const&) const = default;
};

constexpr double dt = 1.0 / 288;
constexpr cairn::step_index days = 30, steps_a_day = 288;

/// Light by the number of the step, counted through all days.
double light(cairn::step_index i) { return 1 + 0.5 * std::sin(2 * std::numbers::pi * double(i) * dt); }

/// The oxygen q that is left where q = 1 / (1 + fish q^2), by going half the way there until it settles: how often that
/// is depends on the state.
struct settling {
  std::array<double, 64> q{1.0};
  std::size_t rounds = 0;

  explicit settling(double fish) {
    double change = 1;
    while (std::abs(change) > 1e-12 && rounds + 1 < q.size()) {
      double const now = q[rounds];
      change = (1 / (1 + fish * now * now) - now) / 2;
      q[++rounds] = now + change;
    }
  }
  [[nodiscard]] double oxygen() const { return q[rounds]; }
  /// What the fish get of the adjoint of the oxygen: as many rounds, from the last to the first.
  [[nodiscard]] double adjoint(double fish, double q_bar) const {
    double fish_bar = 0;
    for (std::size_t k = rounds; k-- > 0;) {
      double const now = q[k], left = 1 / (1 + fish * now * now), bar = q_bar * left * left / 2;
      fish_bar -= bar * now * now;
      q_bar = q_bar / 2 - bar * 2 * fish * now;
    }
    return fish_bar;
  }
};

constexpr double crowded = 2;  // more algae than this stand in each other's light

// Both are kept out of line so that each is compiled once, and the bits of two gradients can be compared: a compiler
// that may fuse products and sums would round two inlined copies differently.

[[gnu::noinline]] void grow(pond& x, cairn::step_index i) {
  double const lit = x.algae > crowded ? crowded : x.algae;
  double const eaten = x.algae * x.fish * settling{x.fish}.oxygen();
  x.algae += dt * (0.8 * light(i) * lit - 0.5 * eaten);
  x.fish += dt * (0.8 * eaten - 0.6 * x.fish);
}

/// Goes the way that `grow` went: the branch and the number of rounds are found again from the state before the step.
[[gnu::noinline]] void grow_adjoint(pond const& x, pond& bar, cairn::step_index i) {
  settling const breath{x.fish};
  double const eaten_bar = dt * (0.8 * bar.fish - 0.5 * bar.algae), lit_bar = dt * 0.8 * light(i) * bar.algae;
  bar.fish += -dt * 0.6 * bar.fish + x.algae * breath.oxygen() * eaten_bar +
              breath.adjoint(x.fish, x.algae * x.fish * eaten_bar);
  bar.algae += x.fish * breath.oxygen() * eaten_bar + (x.algae > crowded ? 0 : lit_bar);
}

int main() {
  pond const x0{1.0, 0.6};
  pond const seed{0.0, 1.0};  // how does the last day's fish depend on the first day's pond?

  auto const report = cairn::check_adjoint(grow, grow_adjoint, x0, days * steps_a_day);
  std::printf("%s\n", report.text().c_str());

  cairn::nested day{cairn::revolve{steps_a_day, 5}, grow, grow_adjoint};
  auto const bar = cairn::gradient(day.step, x0, cairn::revolve{days, 4}, seed, day.adjoint);
  std::printf("by algae %.12g, by fish %.12g\n", bar.algae, bar.fish);

  // The same in one loop, with every state kept.
  bool const same = bar == cairn::gradient(grow, x0, cairn::store_all(days * steps_a_day), seed, grow_adjoint);
  std::printf("same bits as in one loop with every state kept: %s\n", same ? "yes" : "no");

  auto const last_fish = [](pond x) {
    for (cairn::step_index i = 0; i < days * steps_a_day; ++i) grow(x, i);
    return x.fish;
  };
  double const h = 1e-6;
  double const by_algae = (last_fish({x0.algae + h, x0.fish}) - last_fish({x0.algae - h, x0.fish})) / (2 * h);
  double const by_fish = (last_fish({x0.algae, x0.fish + h}) - last_fish({x0.algae, x0.fish - h})) / (2 * h);
  std::printf("by central differences %.9g and %.9g\n", by_algae, by_fish);

  // The loop does take both branches, and goes round more or less often.
  std::size_t dark = 0, fewest = 64, most = 0;
  pond x = x0;
  for (cairn::step_index i = 0; i < days * steps_a_day; ++i) {
    auto const rounds = settling{x.fish}.rounds;
    fewest = std::min(fewest, rounds);
    most = std::max(most, rounds);
    if (x.algae > crowded) ++dark;
    grow(x, i);
  }
  std::printf("%zu of %lld steps with crowded algae; %zu to %zu rounds\n", dark,
              static_cast<long long>(days) * static_cast<long long>(steps_a_day), fewest, most);

  auto const close = [](double a, double b) { return std::abs(a - b) <= 1e-6 * std::abs(b); };
  return report.passed() && same && close(bar.algae, by_algae) && close(bar.fish, by_fish) && dark > 0 && fewest < most
             ? 0
             : 1;
}
