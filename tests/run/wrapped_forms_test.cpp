// SPDX-License-Identifier: Apache-2.0
// What is made of a step and an adjoint (hooks, jumps, inner loops) takes them in every form: each combination has the
// bits of a loop that is written by hand and stores everything. And what a callable sums is found in the callable.
#include <algorithm>
#include <utility>
#include <vector>
#include <cairn/cairn.hpp>
#include <cairn/run/with/each_bar.hpp>
#include <cairn/run/with/jumps.hpp>
#include <cairn/schedule/mixed.hpp>
#include <cairn/schedule/multistage.hpp>
#include "support/catch.hpp"
#include "support/pendulum.hpp"

using namespace cairn;
using vec = pendulum::numbers;
using point = pendulum::state;

namespace {

struct both {
  vec before, after;
};
/// With a way to restart.
auto restartable() {
  return recorded{[](point& x, step_index i) {
                    vec before = x.v;
                    pendulum::swing(x.v, x.v, i);
                    return both{before, x.v};
                  },
                  [](both const& tape, vec& bar) { pendulum::swing_back(tape.before, bar); },
                  [](both const& tape) { return point{tape.after}; }};
}

/// Calls use(step, adjoint, plan) for every form of one and of the other, with plans that suit them.
template <class Use>
void each_adjoint(auto step, step_index n, Use use) {
  for (slot_index const slots : {1, 3, 40}) {
    any_schedule const plan = revolve{n, slots};
    use(step, pendulum::one_step{}, plan);
    use(step, pendulum::one_step_by_value{}, plan);
    use(step, pendulum::with_next{}, plan);
    use(step, pendulum::recorded(), plan);
    use(step, restartable(), any_schedule{mixed{n, slots, {.tape_units = 1, .tapes_restart = true}}});
    use(step, pendulum::leaf{}, plan);
    for (step_index const leaf : {2, 5})
      use(step, pendulum::leaf{}, any_schedule{leaves{n, leaf, revolve{(n + leaf - 1) / leaf, slots}}});
  }
}
template <class Use>
void each_pair(step_index n, Use use) {
  each_adjoint(pendulum::in_place{}, n, use);
  each_adjoint(pendulum::by_value{}, n, use);
  each_adjoint(pendulum::out_of_place{}, n, use);
}

/// The jumps of a loop of n steps, as the library has them and by hand.
struct jump {
  double by;
  void operator()(point& x) const { x.v[0] += by * x.v[0] * x.v[1]; }
};
struct jump_back {
  double by;
  void operator()(point const& x, vec& bar) const {
    double const b = bar[0];
    bar[0] += b * by * x.v[1];
    bar[1] += b * by * x.v[0];
  }
};
bool is_fast(vec const& x) { return x[1] > 0.65; }

struct by_hand {
  vec gradient;
  /// \param hook  hook(state i, bar, i) after the adjoint of step i and its jumps
  template <class Hook>
  by_hand(step_index n, bool jumps, Hook hook) {
    struct part {
      vec x;
      step_index i;
      double by;  // of a jump
      bool begins = false;
    };
    std::vector<part> parts;
    point x = pendulum::start();
    auto const jumps_by = [&](double by, step_index i, bool begins) {
      parts.push_back({x.v, i, by, begins});
      jump{by}(x);
    };
    for (step_index i = 0; i < n; ++i) {
      bool begins = true;
      if (jumps) {
        if (i == 0) jumps_by(0.25, i, std::exchange(begins, false));
        if (i == 7) jumps_by(0.5, i, std::exchange(begins, false));
        if (i == 7) jumps_by(-0.3, i, std::exchange(begins, false));
        if (is_fast(x.v)) jumps_by(-0.2, i, std::exchange(begins, false));
      }
      parts.push_back({x.v, i, 0, begins});
      pendulum::swing(x.v, x.v, i);
      if (jumps && i == 7) jumps_by(0.4, i, false);
      if (jumps && i == n - 1) jumps_by(0.6, i, false);
    }
    gradient = x.v;
    for (std::size_t k = parts.size(); k-- > 0;) {
      auto const& p = parts[k];
      if (p.by != 0) jump_back{p.by}(point{p.x}, gradient);
      else pendulum::swing_back(p.x, gradient);
      if (p.begins) hook(p.x, gradient, p.i);
    }
  }
};
auto const no_hook = [](vec const&, vec&, step_index) {};

template <class Step, class Adjoint>
auto jumping(Step& step, Adjoint& adjoint, step_index n) {
  return with_jumps{step,
                    adjoint,
                    jump_at(0, jump{0.25}, jump_back{0.25}),
                    jump_at(7, jump{0.5}, jump_back{0.5}),
                    jump_at(7, jump{-0.3}, jump_back{-0.3}),
                    jump_when([](point const& x) { return is_fast(x.v); }, jump{-0.2}, jump_back{-0.2}),
                    jump_after(7, jump{0.4}, jump_back{0.4}),
                    jump_after(n - 1, jump{0.6}, jump_back{0.6})};
}

/// A loss at each step, or one at the first step of each leaf.
struct add_loss {
  static void add(vec const& x, vec& bar, step_index i) { bar[0] += 0.01 * double(i + 1) * x[1]; }
  void operator()(point const& x, vec& bar, step_index i) const { add(x.v, bar, i); }
  void operator()(vec const& tape, vec& bar, step_index i) const { add(tape, bar, i); }
  void operator()(both const& tape, vec& bar, step_index i) const { add(tape.before, bar, i); }
  void operator()(point const& x, vec& bar, step_index first, step_index last) const {
    add(x.v, bar, first);
    bar[1] += double(last);
  }
};
template <class Adjoint>
constexpr bool of_leaves = detail::shape_of_adjoint<Adjoint, point, vec>().form == adjoint_form::leaf;
template <class Adjoint>
auto hand_hook(step_index n, step_index leaf) {
  return [=](vec const& x, vec& bar, step_index i) {
    if (i % leaf != 0) return;
    add_loss::add(x, bar, i);
    if (of_leaves<Adjoint>) bar[1] += double(i + leaf < n ? i + leaf : n);
  };
}

constexpr step_index n = 21;

}  // namespace

TEST_CASE("a hook comes after an adjoint of any form: it sees state i, the first state of a leaf, or a tape") {
  each_adjoint(pendulum::out_of_place{}, n, [](auto step, auto adjoint, any_schedule const& plan) {
    using adjoint_type = decltype(adjoint);
    auto const expected = by_hand{n, false, hand_hook<adjoint_type>(n, plan.leaf())}.gradient;
    CHECK(gradient(step, pendulum::start(), plan, pendulum::seed, hooked(adjoint, add_loss{})) == expected);
    if (tapes_of(plan) > 0) return;
    auto run = checkpointed_loop(step, pendulum::start(), plan);
    CHECK(run.reverse(pendulum::seed, hooked(adjoint, add_loss{})) == expected);
    auto const bars = run.reverse([](point const& x) { return std::vector<vec>(2, x.v); },
                                  each_bar(hooked(adjoint, add_loss{})));
    CHECK(bars == std::vector<vec>(2, expected));
  });
}

TEST_CASE("jumps go with steps and adjoints of any form") {
  auto const expected = by_hand{n, true, no_hook}.gradient;
  REQUIRE(expected != by_hand{n, false, no_hook}.gradient);
  each_pair(n, [&](auto step, auto adjoint, any_schedule const& plan) {
    auto loop = jumping(step, adjoint, n);
    CHECK(gradient(loop.step, pendulum::start(), plan, pendulum::seed, loop.adjoint) == expected);
  });
}

TEST_CASE("hooks go around jumps with adjoints of any form") {
  each_adjoint(pendulum::by_value{}, n, [](auto step, auto adjoint, any_schedule const& plan) {
    auto loop = jumping(step, adjoint, n);
    using adjoint_type = decltype(adjoint);
    if constexpr (detail::recorder<adjoint_type>) {
      double sum = 0;
      auto const count = [&](vec& bar, step_index i) { sum += double(i), bar[0] *= 1; };
      CHECK(gradient(loop.step, pendulum::start(), plan, pendulum::seed, hooked(loop.adjoint, count)) ==
            by_hand{n, true, no_hook}.gradient);
      CHECK(sum == double(n * (n - 1) / 2));
    } else {
      CHECK(gradient(loop.step, pendulum::start(), plan, pendulum::seed, hooked(loop.adjoint, add_loss{})) ==
            by_hand{n, true, hand_hook<adjoint_type>(n, plan.leaf())}.gradient);
    }
  });
}

namespace {

/// Calls use(step, adjoint, plan) for every form of an adjoint, with plans for inner loops of 7 steps.
template <class Use>
void each_inner(auto step, Use use) {
  for (slot_index const slots : {1, 3}) {
    any_schedule const plan = revolve{7, slots};
    use(step, pendulum::one_step{}, plan);
    use(step, pendulum::one_step_by_value{}, plan);
    use(step, pendulum::with_next{}, plan);
    use(step, pendulum::recorded(), plan);
    use(step, restartable(), any_schedule{mixed{7, slots, {.tape_units = 1, .tapes_restart = true}}});
    use(step, pendulum::leaf{}, plan);
    use(step, pendulum::leaf{}, any_schedule{leaves{7, 3, revolve{3, slots}}});
  }
}

}  // namespace

TEST_CASE("inner loops take steps and adjoints of any form") {
  auto const check = [](auto step, auto adjoint, any_schedule const& plan) {
    nested day{plan, step, adjoint};
    CHECK(gradient(day.step, pendulum::start(), revolve{3, 2}, pendulum::seed, day.adjoint) ==
          by_hand{n, false, no_hook}.gradient);
  };
  each_inner(pendulum::in_place{}, check);
  each_inner(pendulum::by_value{}, check);
  each_inner(pendulum::out_of_place{}, check);
}

TEST_CASE("inner loops take jumps and hooks around adjoints of any form") {
  each_inner(pendulum::in_place{}, [](auto step, auto adjoint, any_schedule const& plan) {
    auto jumps = jumping(step, adjoint, n);
    nested eventful{plan, jumps.step, jumps.adjoint, sweep_options{}};
    CHECK(gradient(eventful.step, pendulum::start(), revolve{3, 2}, pendulum::seed, eventful.adjoint) ==
          by_hand{n, true, no_hook}.gradient);
    nested hooks{plan, step, hooked(adjoint, add_loss{})};
    auto const losses = by_hand{n, false, [&](vec const& x, vec& bar, step_index i) {
                                  step_index const k = i % 7;
                                  if (k % plan.leaf() != 0) return;
                                  add_loss::add(x, bar, i);
                                  if (of_leaves<decltype(adjoint)>)
                                    bar[1] += double(i - k + std::min(k + plan.leaf(), step_index{7}));
                                }}.gradient;
    CHECK(gradient(hooks.step, pendulum::start(), revolve{3, 2}, pendulum::seed, hooks.adjoint) == losses);
  });
}

TEST_CASE("the plan of an inner loop is refused before any step runs, in every verb and whatever is around it") {
  pendulum::in_place step;
  pendulum::one_step back;
  revolve const outer{3, 1};
  auto const refused = [&](auto const& verb) {
    pendulum::step_calls = 0;
    CHECK_THROWS_AS(verb(), invalid_plan);
    CHECK(pendulum::step_calls == 0);
  };
  auto const by = [&](auto const& of, auto const& adjoint) {
    refused([&] { return gradient(of, pendulum::start(), outer, pendulum::seed, adjoint); });
  };
  nested leafy{any_schedule{leaves{7, 3, revolve{3, 1}}}, step, back};
  by(leafy.step, leafy.adjoint);
  by(leafy.step, hooked(leafy.adjoint, [](point const&, vec&, step_index) {}));
  nested around{revolve{2, 1}, leafy.step, leafy.adjoint};
  by(around.step, around.adjoint);
  nested on_disk{any_schedule{multistage{7, 1, 2}}, step, back};
  by(on_disk.step, on_disk.adjoint);
  auto work = workspace_for<point>(outer);
  refused([&] { return resume(leafy.step, pendulum::start(), outer, pendulum::seed, leafy.adjoint, work); });
  refused([&] {
    return resume(leafy.step, pendulum::start(), outer, resume_point{2, pendulum::start().v}, leafy.adjoint, work);
  });
  run_while const open{[](point const&, step_index i) { return i < 3; }, online{1}};
  auto used = workspace_for<point>(open.plan);
  refused([&] { return resume(leafy.step, pendulum::start(), open, pendulum::seed, leafy.adjoint, used); });
}

TEST_CASE("an innermost loop that does not end in the state of the loop around it is found") {
  sweep_options const checked{.verify = replay_check::checkpoints};
  auto const back = [](vec const& x, vec& bar, step_index) { pendulum::swing_back(x, bar); };
  for (step_index wrong = -1; wrong < n + 3; ++wrong) {
    int calls = 0;  // of the wrong step: forward, in the loop around, and in the innermost one
    auto const step = [&](vec& x, step_index i) {
      pendulum::swing(x, x, i);
      if (i == wrong && ++calls == 3) x[0] += 1e-9;
    };
    nested inner{store_all(4), step, back, checked};
    nested middle{store_all(3), inner.step, inner.adjoint, checked};
    auto const sweep = [&] {
      return gradient(middle.step, pendulum::start().v, store_all(2), vec{1, 0}, middle.adjoint, checked);
    };
    if (wrong < 0) CHECK_NOTHROW(sweep());
    else CHECK_THROWS_AS(sweep(), nondeterminism_error);
  }
}

TEST_CASE("a loop of no steps, and inner loops of none") {
  nested none{revolve{0, 1}, pendulum::out_of_place{}, pendulum::with_next{}};
  CHECK(gradient(none.step, pendulum::start(), 4, pendulum::seed, none.adjoint) == pendulum::start().v);
  CHECK(gradient(pendulum::by_value{}, pendulum::start(), 0, pendulum::seed,
                 hooked(pendulum::with_next{}, add_loss{})) == pendulum::start().v);
}

namespace {

/// Sums what it sees, as adjoints sum the derivative by parameters.
struct summing {
  double sum = 0;
  void operator()(point const& x, vec& bar, step_index i) {
    sum += bar[0] * double(i);
    pendulum::swing_back(x.v, bar);
  }
};
struct summing_hook {
  double sum = 0;
  void operator()(point const&, vec& bar, step_index) { sum += bar[1]; }
};
struct summing_tapes {
  double sum = 0;
  void operator()(vec const& tape, vec& bar, step_index i) {
    sum += bar[0] * double(i);
    pendulum::swing_back(tape, bar);
  }
};

}  // namespace

TEST_CASE("what a callable sums is found in the callable that was given, whatever is made of it") {
  summing alone;
  pendulum::in_place step;
  auto const run = [&](auto const& the_step, auto&& adjoint) {
    return gradient(the_step, pendulum::start(), uniform{n}, pendulum::seed, adjoint);
  };
  auto const expected = run(step, alone);
  REQUIRE(alone.sum != 0);
  summing inner;
  auto const sum_of = [](auto& callable) { return std::exchange(callable.sum, 0); };
  SECTION("a hook") {
    summing_hook hook;
    CHECK(run(step, hooked(inner, hook)) == expected);
    CHECK(sum_of(inner) == alone.sum);
    CHECK(hook.sum != 0);
  }
  SECTION("several bars") {
    auto const bars = gradient(step, pendulum::start(), uniform{n},
                               [](point const& x) { return std::vector<vec>{x.v}; }, each_bar(inner));
    CHECK(bars[0] == expected);
    CHECK(sum_of(inner) == alone.sum);
  }
  SECTION("jumps, and what a jump's adjoint sums") {
    summing_hook of_jump;
    auto const back = [&](point const& x, vec& bar, step_index i) { of_jump(x, bar, i); };
    with_jumps loop{step, inner, jump_at(3, [](point&) {}, back)};
    CHECK(run(loop.step, loop.adjoint) == expected);
    CHECK(sum_of(inner) == alone.sum);
    CHECK(of_jump.sum != 0);
  }
  SECTION("inner loops") {
    nested day{revolve{7, 2}, step, inner};
    CHECK(gradient(day.step, pendulum::start(), 3, pendulum::seed, day.adjoint) == expected);
    CHECK(sum_of(inner) == alone.sum);
  }
  SECTION("a tape's reverse, and around it a hook and several bars") {
    summing_tapes reverse;
    pendulum::record record;
    CHECK(run(step, recorded{record, reverse}) == expected);
    CHECK(sum_of(reverse) == alone.sum);
    recorded adjoint{record, reverse};
    CHECK(run(step, hooked(adjoint, [](vec&, step_index) {})) == expected);
    CHECK(sum_of(reverse) == alone.sum);
    (void)gradient(step, pendulum::start(), uniform{n}, [](point const& x) { return std::vector<vec>{x.v}; },
                   each_bar(adjoint));
    CHECK(sum_of(reverse) == alone.sum);
  }
  SECTION("a tag") {
    auto const generic = [&](auto const& x, auto& bar, auto first, auto last) {
      for (auto i = last; i-- > first;) inner(x, bar, i);
    };
    CHECK(run(step, leaf(generic)) == expected);
    CHECK(sum_of(inner) == alone.sum);
  }
  SECTION("an rvalue is moved, and lives in what is made of it") {
    auto const made = [] {
      std::vector<double> const weights(1, 1.0);
      return hooked([weights](point const& x, vec& bar) { pendulum::swing_back(x.v, bar), bar[0] *= weights[0]; },
                    [weights](point const&, vec& bar, step_index) { bar[0] *= weights[0]; });
    }();
    CHECK(run(step, made) == expected);
  }
  CHECK(inner.sum == 0);
}
