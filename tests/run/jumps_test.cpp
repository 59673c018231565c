// SPDX-License-Identifier: Apache-2.0
// Events: a state that jumps at a step or where a condition holds, against the same loop written by hand with all
// states stored.
#include <cmath>
#include <functional>
#include <cstdlib>
#include <string>
#include <utility>
#include <vector>
#include <cairn/cairn.hpp>
#include <cairn/run/check/check_adjoint.hpp>
#include <cairn/run/with/jumps.hpp>
#include "support/catch.hpp"
#include "support/kernels.hpp"
#include "support/plans.hpp"

using cairn::any_schedule;
using cairn::jump_after;
using cairn::jump_at;
using cairn::jump_when;
using cairn::step_index;
using cairn::with_jumps;
using kernels::vec2;
namespace {

// Jumps that do not commute, out of line for equal bits.
[[gnu::noinline]] void bend(vec2& x, step_index i) { x = {x[0] - 0.25 * x[1] * x[1] + 0.01 * double(i), 0.5 * x[1]}; }
[[gnu::noinline]] void bend_back(vec2 const& x, vec2& bar, step_index) { bar[1] = 0.5 * bar[1] - 0.5 * x[1] * bar[0]; }
[[gnu::noinline]] vec2 swap(vec2 const& x) { return {x[1] + 0.5, std::sin(x[0])}; }
[[gnu::noinline]] vec2 swap_back(vec2 const& x, vec2 const& bar) { return {std::cos(x[0]) * bar[1], bar[0]}; }
[[gnu::noinline]] vec2 twist(vec2 const& x, step_index i) {
  return {x[1] + 0.1 * double(i), (1 + 0.1 * double(i)) * std::sin(x[0])};
}
[[gnu::noinline]] vec2 twist_back(vec2 const& x, vec2 const& bar, step_index i) {
  return {(1 + 0.1 * double(i)) * std::cos(x[0]) * bar[1], bar[0]};
}
[[gnu::noinline]] void bounce(vec2& x) { x[1] = -0.8 * x[1] + 0.1 * x[0] * x[0]; }
[[gnu::noinline]] void bounce_back(vec2 const& x, vec2& bar) { bar = {bar[0] + 0.2 * x[0] * bar[1], -0.8 * bar[1]}; }
bool low(vec2 const& x) { return x[1] < 0.6; }

long step_calls = 0;
auto const step = [](vec2& x, step_index i) { ++step_calls, kernels::step(x.data(), i); };
auto const by_value = [](vec2 x, step_index i) {
  ++step_calls, kernels::step(x.data(), i);
  return x;
};
auto const adjoint = [](vec2 const& x, vec2& bar, step_index i) { kernels::adjoint(x.data(), bar.data(), i); };
auto const seed = [](vec2 const& x) { return kernels::seed(x.data()); };
/// Runs its steps itself, as an AD tool does; must never get a jump in between.
auto const leaf_adjoint = [](vec2 const& x, vec2& bar, step_index first, step_index last) {
  std::vector<vec2> all{x};
  for (step_index i = first; i + 1 < last; ++i) {
    all.push_back(all.back());
    kernels::step(all.back().data(), i);
  }
  for (step_index i = last; i-- > first;) kernels::adjoint(all[std::size_t(i - first)].data(), bar.data(), i);
};

/// Where the loop of a test jumps: `bend` then `swap` before each step of `twice`, `twist` after each of `after`,
/// `bounce` where it is low.
struct events {
  std::vector<step_index> twice, after;
  bool bounces = false;
};
bool is_in(std::vector<step_index> const& all, step_index i) {
  for (auto const one : all)
    if (one == i) return true;
  return false;
}

/// The loop written by hand: every state before each map is stored.
struct by_hand {
  vec2 last, gradient;
  int bounced = 0;
  by_hand(step_index n, events const& where) {
    struct passed {
      int map;
      vec2 x;
      step_index i;
    };
    std::vector<passed> all;
    vec2 x = kernels::start;
    for (step_index i = 0; i < n; ++i) {
      if (is_in(where.twice, i)) {
        all.push_back({0, x, i}), bend(x, i);
        all.push_back({1, x, i}), x = swap(x);
      }
      if (where.bounces && low(x)) all.push_back({2, x, i}), bounce(x), ++bounced;
      all.push_back({3, x, i}), kernels::step(x.data(), i);
      if (is_in(where.after, i)) all.push_back({4, x, i}), x = twist(x, i);
    }
    last = x;
    gradient = seed(x);
    for (auto k = all.size(); k-- > 0;) {
      auto const& [map, at, i] = all[k];
      if (map == 0) bend_back(at, gradient, i);
      else if (map == 1) gradient = swap_back(at, gradient);
      else if (map == 2) bounce_back(at, gradient);
      else if (map == 4) gradient = twist_back(at, gradient, i);
      else kernels::adjoint(at.data(), gradient.data(), i);
    }
  }
};

template <class Use>
void each_any_plan(step_index n, Use use) {
  each_in_memory(n, [&](std::string const& name, auto const& plan) {
    INFO(name);
    any_schedule const any{plan};
    if (tapes_of(any) == 0 && !tapes_restart(any)) use(any);
  });
}

template <class Loop>
void check(any_schedule const& plan, Loop const& loop, by_hand const& all) {
  if (cairn::gradient(loop.step, kernels::start, plan, seed, loop.adjoint) != all.gradient) FAIL("another gradient");
  auto run = cairn::checkpointed_loop(loop.step, kernels::start, plan);
  if (run.final_state() != all.last) FAIL("another final state");
  if (run.reverse(seed, loop.adjoint) != all.gradient) FAIL("another gradient of a run");
  if (run.reverse(seed, loop.adjoint) != all.gradient) FAIL("another gradient of a run that is reversed again");
}
/// With the step and the adjoint of each form.
template <class... Jump>
void check_forms(any_schedule const& plan, by_hand const& all, Jump const&... jump) {
  check(plan, with_jumps{step, leaf_adjoint, jump...}, all);
  check(plan, with_jumps{by_value, leaf_adjoint, jump...}, all);
  if (plan.leaf() > 1) return;
  check(plan, with_jumps{step, adjoint, jump...}, all);
}

/// The same state in an object that stays where it is, with a bar in it for adjoints that take none. What
/// an adjoint may move, it spoils.
struct held {
  held() = default;
  held(held const&) = delete;
  held& operator=(held const&) = delete;
  [[nodiscard]] vec2 save() const { return x; }
  void save(vec2& into) const { ++saved_again, into = x; }
  void restore(vec2 const& snapshot) { x = snapshot; }
  vec2 x = kernels::start, bar{};
  static inline long saved_again = 0;
};
void spoil(held& h) { h.x = {std::nan(""), std::nan("")}; }
auto const held_step = [](held& h, step_index i) { ++step_calls, kernels::step(h.x.data(), i); };
auto const held_seed = [](held const& h) { return kernels::seed(h.x.data()); };
auto const reads = [](held const& h, vec2& bar, step_index i) { kernels::adjoint(h.x.data(), bar.data(), i); };
auto const moves = [](held& h, vec2& bar, step_index i) {
  kernels::adjoint(h.x.data(), bar.data(), i);
  spoil(h);
};
auto const moves_in_leaf = [](held& h, vec2& bar, step_index first, step_index last) {
  leaf_adjoint(h.x, bar, first, last);
  spoil(h);
};
auto const library_seed = [](held& h) { h.bar = kernels::seed(h.x.data()); };
auto const in_library = [](held& h, step_index i) { moves(h, h.bar, i); };
auto const leaf_in_library = [](held& h, step_index first, step_index last) { moves_in_leaf(h, h.bar, first, last); };
/// The jumps of the object: some adjoints move it, some only read it.
auto const held_bends = [](step_index i) {
  return jump_at(
      i, [](held& h, step_index at) { bend(h.x, at); },
      [](held& h, vec2& bar, step_index at) { bend_back(h.x, bar, at), spoil(h); });
};
auto const held_swaps = [](step_index i) {
  return jump_at(
      i, [](held& h) { h.x = swap(h.x); }, [](held const& h, vec2 const& bar) { return swap_back(h.x, bar); });
};
auto const held_twists_after = [](step_index i) {
  return jump_after(
      i, [](held& h, step_index at) { h.x = twist(h.x, at); },
      [](held& h, vec2& bar, step_index at) { bar = twist_back(h.x, bar, at), spoil(h); });
};
auto const held_bounces = jump_when([](held const& h) { return low(h.x); }, [](held& h) { bounce(h.x); },
                                    [](held const& h, vec2& bar) { bounce_back(h.x, bar); });

auto const bends = [](step_index i) { return jump_at(i, bend, bend_back); };
auto const swaps = [](step_index i) { return jump_at(i, swap, swap_back); };
auto const twists_after = [](step_index i) { return jump_after(i, twist, twist_back); };
auto const bounces = jump_when(low, bounce, bounce_back);

}  // namespace

TEST_CASE("jumps at any step, also after the last, have the bits of a loop by hand for every plan and leaf") {
  std::size_t checked = 0;
  for (step_index const n : {1, 2, 3, 7, 13})
    for (step_index i = 0; i < n; i += n > 7 ? 3 : 1)
      each_any_plan(n, [&](any_schedule const& plan) {
        CAPTURE(i);
        by_hand const once{n, {{i}, {n - 1}}};
        check_forms(plan, once, bends(i), swaps(i), twists_after(n - 1));
        ++checked;
      });
  CHECK(checked > 1000);
}

TEST_CASE("two jumps of one step are made in the order given") {
  by_hand const all{9, {{4}, {}}};
  auto const right = with_jumps{step, adjoint, bends(4), swaps(4)};
  auto const wrong = with_jumps{step, adjoint, swaps(4), bends(4)};
  CHECK(cairn::gradient(right.step, kernels::start, 9, seed, right.adjoint) == all.gradient);
  CHECK(cairn::gradient(wrong.step, kernels::start, 9, seed, wrong.adjoint) != all.gradient);
  CHECK(cairn::check_adjoint(wrong.step, wrong.adjoint, kernels::start, 9).passed());
}

TEST_CASE(
    "jumps at many steps, after steps and on conditions have the bits of a loop by hand for all plans and leaves") {
  std::size_t checked = 0;
  for (step_index const n : {9, 26})
    each_any_plan(n, [&](any_schedule const& plan) {
      by_hand const all{n, {{0, 3, 8}, {3, 4, n - 1}, true}};
      if (all.bounced < 2) FAIL("the condition never holds");
      check_forms(plan, all, bends(0), swaps(0), bends(3), swaps(3), bends(8), swaps(8), bounces, twists_after(3),
                  twists_after(4), twists_after(n - 1));
      ++checked;
    });
  CHECK(checked > 100);
}

TEST_CASE("a condition that holds before every step jumps before every step") {
  auto const always = jump_when([](vec2 const&, step_index) { return true; }, swap, swap_back);
  for (step_index const n : {1, 5, 12}) {
    std::vector<vec2> all{kernels::start};
    for (step_index i = 0; i < n; ++i) {
      all.push_back(swap(all.back()));
      kernels::step(all.back().data(), i);
    }
    vec2 bar = seed(all.back());
    for (step_index i = n; i-- > 0;) {
      kernels::adjoint(swap(all[std::size_t(i)]).data(), bar.data(), i);
      bar = swap_back(all[std::size_t(i)], bar);
    }
    auto const one = with_jumps{step, adjoint, always};
    CHECK(cairn::gradient(one.step, kernels::start, cairn::revolve{n, 2}, seed, one.adjoint) == bar);
    auto const many = with_jumps{step, leaf_adjoint, always};
    CHECK(cairn::gradient(many.step, kernels::start, cairn::leaves{n, 4, cairn::revolve{(n + 3) / 4, 2}}, seed,
                          many.adjoint) == bar);
  }
}

TEST_CASE("a step without a jump is called as often as without jumps, and one with a jump after it once more") {
  cairn::revolve const plan{60, 4};
  auto const calls_of = [&](auto const& loop) {
    step_calls = 0;
    (void)cairn::gradient(loop.step, kernels::start, plan, seed, loop.adjoint);
    return step_calls;
  };
  auto const plain = long(cairn::estimate(plan).step_calls);
  CHECK(calls_of(with_jumps{step, adjoint}) == plain);
  CHECK(calls_of(with_jumps{step, adjoint, bends(0), bends(30), swaps(30), bounces}) == plain);
  with_jumps const after{step, adjoint, bends(30), twists_after(30), twists_after(30), twists_after(7)};
  CHECK(calls_of(after) == plain + 2);
}

TEST_CASE("loops of unknown length jump, too, and may end where a step says so") {
  for (cairn::slot_index const slots : {1, 2, 5})
    for (step_index const n : {1, 4, 19}) {
      CAPTURE(slots, n);
      std::vector<step_index> const twice = n > 3 ? std::vector<step_index>{0, 3} : std::vector<step_index>{0};
      by_hand const all{n, {twice, {n - 1}, true}};
      auto const loop =
          with_jumps{step, adjoint, bends(0), swaps(0), bends(3), swaps(3), bounces, twists_after(n - 1), bends(1000)};
      auto run = cairn::checkpointed_while(
          loop.step, kernels::start, [n](vec2 const&, step_index i) { return i < n; }, cairn::online{slots});
      CHECK(run.steps() == n);
      CHECK(run.final_state() == all.last);
      CHECK(run.reverse(seed, loop.adjoint) == all.gradient);

      auto const stopping = [n](vec2& x, step_index i) {
        kernels::step(x.data(), i);
        return i + 1 < n;
      };
      auto const ends =
          with_jumps{stopping, adjoint, bends(0), swaps(0), bends(3), swaps(3), bounces, twists_after(n - 1)};
      auto early = cairn::checkpointed_while(
          ends.step, kernels::start, [](vec2 const&) { return true; }, cairn::online{slots});
      CHECK(early.steps() == n);
      CHECK(early.reverse(seed, ends.adjoint) == all.gradient);
    }
}

TEST_CASE("steps that choose their own size jump, too") {
  auto const first = [](vec2& x, step_index i) {
    double const size = 0.5 + 0.1 * double(i % 3) + (low(x) ? 0.25 : 0);
    x[0] += 0.1 * size * x[1], x[1] -= 0.1 * size * std::sin(x[0]);
    return size;
  };
  auto const again = [](vec2& x, double size) { x[0] += 0.1 * size * x[1], x[1] -= 0.1 * size * std::sin(x[0]); };
  auto const back = [](vec2 const& x, vec2& bar, double size) {
    bar[0] -= 0.1 * size * std::cos(x[0] + 0.1 * size * x[1]) * bar[1];
    bar[1] += 0.1 * size * bar[0];
  };
  auto const gradient_with = [&](cairn::online const& plan) {
    cairn::adaptive chosen{first, again};
    auto const loop = with_jumps{chosen.step(), chosen.with_record(back), bends(2), bounces, twists_after(7)};
    auto run = cairn::checkpointed_while(
        loop.step, kernels::start, [](vec2 const&, step_index i) { return i < 20; }, plan);
    auto const bar = run.reverse(seed, loop.adjoint);
    CHECK(chosen.records().size() == 20);
    return bar;
  };
  auto const all = gradient_with(cairn::online{30});
  for (cairn::slot_index const slots : {1, 2, 4}) CHECK(gradient_with(cairn::online{slots}) == all);
}

TEST_CASE("a bouncing ball has the derivative of its flight by hand") {
  // Height and speed; the ball starts to rise again, and loses some speed, where it has come below the ground.
  constexpr double dt = 0.01, g = 9.81, kept = 0.8;
  auto const fall = [](vec2& x) { x = {x[0] + dt * x[1], x[1] - dt * g}; };
  auto const fall_back = [](vec2 const&, vec2& bar) { bar[1] += dt * bar[0]; };
  auto const ball =
      with_jumps{fall, fall_back,
                 jump_when([](vec2 const& x) { return x[0] < 0 && x[1] < 0; }, [](vec2& x) { x[1] *= -kept; },
                           [](vec2 const&, vec2& bar) { bar[1] *= -kept; })};
  vec2 const x0{1, 0}, last{1, 0};
  CHECK(cairn::check_adjoint(ball.step, ball.adjoint, x0, 200).passed());
  auto const bar = cairn::gradient(ball.step, x0, cairn::revolve{200, 5}, last, ball.adjoint);
  // All maps are linear: the height at the end by the first speed is the time left, signed by the bounces that have
  // been.
  double height = 1, speed = 0, by_speed = 0, factor = 1;
  int bounced = 0;
  for (int i = 0; i < 200; ++i) {
    if (height < 0 && speed < 0) speed *= -kept, factor *= -kept, ++bounced;
    height += dt * speed, by_speed += dt * factor, speed -= dt * g;
  }
  CHECK(bounced == 3);
  CHECK(bar[0] == 1);
  CHECK(bar[1] == Approx(by_speed).epsilon(1e-12));
}

TEST_CASE("hooks inside a loop with jumps see the state after them, and around it the state before") {
  cairn::revolve const plan{10, 3};
  vec2 inside{}, outside{};
  auto const note = [](vec2& into) {
    return [&into](vec2 const& x, vec2&, step_index i) { if (i == 4) into = x; };
  };
  auto const within = with_jumps{step, cairn::hooked(adjoint, note(inside)), bends(4)};
  auto const bar =
      cairn::gradient(within.step, kernels::start, plan, seed, cairn::hooked(within.adjoint, note(outside)));
  auto expected = kernels::states(4).back();
  CHECK(outside == expected);
  bend(expected, 4);
  CHECK(inside == expected);
  by_hand const all{10, {{}, {}}};
  CHECK(bar != all.gradient);
}

TEST_CASE("jumps are made inside nested loops, and in a sweep that is resumed or checked") {
  by_hand const all{24, {{0, 5, 6}, {11, 23}}};
  auto const loop = with_jumps{step,     adjoint,  bends(0), swaps(0),        bends(5),
                               swaps(5), bends(6), swaps(6), twists_after(11), twists_after(23)};
  cairn::nested const outer{cairn::revolve{6, 2}, loop.step, loop.adjoint};
  CHECK(cairn::gradient(outer.step, kernels::start, cairn::revolve{4, 2}, seed, outer.adjoint) == all.gradient);
  cairn::revolve const plan{24, 3};
  CHECK(cairn::gradient(loop.step, kernels::start, plan, seed, loop.adjoint,
                        cairn::sweep_options{.verify = cairn::replay_check::every_step}) == all.gradient);

  auto work = cairn::workspace_for<vec2>(plan);
  cairn::resume_point note{step_index{24}, vec2{}};
  auto const noting = cairn::hooked(loop.adjoint, [&](vec2 const&, vec2& bar, step_index i) {
    note = {i, bar};
    if (i == 6) throw 6;
  });
  CHECK_THROWS_AS(cairn::gradient(loop.step, kernels::start, plan, seed, noting, work), int);
  CHECK(cairn::resume(loop.step, kernels::start, plan, note, loop.adjoint, work) == all.gradient);
}

TEST_CASE("what a jump throws comes through, and the loop can be used again") {
  by_hand const all{12, {{5}, {}}};
  bool fails = true;
  auto const failing = jump_at(
      5, [&](vec2& x, step_index i) { fails ? throw 5 : bend(x, i); }, bend_back);
  auto const loop = with_jumps{step, adjoint, failing, swaps(5)};
  cairn::revolve const plan{12, 3};
  auto work = cairn::workspace_for<vec2>(plan);
  CHECK_THROWS_AS(cairn::gradient(loop.step, kernels::start, plan, seed, loop.adjoint, work), int);
  fails = false;
  CHECK(cairn::gradient(loop.step, kernels::start, plan, seed, loop.adjoint, work) == all.gradient);
}

TEST_CASE("a jump that no step of the loop would make is refused before any step runs") {
  using Catch::Matchers::ContainsSubstring;
  CHECK_THROWS_WITH(bends(-1), ContainsSubstring("a jump has a negative step number"));
  CHECK_THROWS_AS(twists_after(-1), cairn::invalid_call);
  auto const refuses = [](auto const& loop, step_index n) {
    step_calls = 0;
    CHECK_THROWS_WITH(cairn::gradient(loop.step, kernels::start, cairn::revolve{n, 2}, seed, loop.adjoint),
                      ContainsSubstring("at which this jump would run"));
    CHECK_THROWS_WITH(cairn::checkpointed_loop(loop.step, kernels::start, cairn::revolve{n, 2}),
                      ContainsSubstring("at which this jump would run"));
    CHECK(step_calls == 0);
  };
  for (step_index const n : {0, 1, 8}) {
    refuses(with_jumps{step, adjoint, bends(n)}, n);
    refuses(with_jumps{step, adjoint, bounces, twists_after(n)}, n);
    refuses(with_jumps{step, adjoint, bends(n + 5)}, n);
    with_jumps const inner{step, adjoint, bends(n)};
    refuses(cairn::model{std::ref(inner.step), std::ref(inner.adjoint)}, n);
    if (n > 0) refuses(with_jumps{inner.step, inner.adjoint, bends(0)}, n);
    with_jumps const late{step, adjoint, bends(3 * n)};
    refuses(cairn::nested{cairn::revolve{3, 1}, late.step, late.adjoint}, n);
    with_jumps const by_p{[](vec2& x, double, step_index i) { step(x, i); },
                          [](vec2 const& x, vec2& bar, double, double&, step_index i) { adjoint(x, bar, i); },
                          bends(n)};
    auto const last = cairn::at_end([](vec2 const& x) { return x[0]; }, [](vec2 const&, vec2& bar) { bar[0] += 1; });
    CHECK_THROWS_WITH(cairn::differentiate(cairn::model{by_p.step, by_p.adjoint}, kernels::start, 1.0, n, last),
                      ContainsSubstring("at which this jump would run"));
    CHECK(step_calls == 0);
  }
}

TEST_CASE(
    "an object that stays where it is jumps, too, with the bits of a loop by hand for every plan and form of adjoint") {
  std::size_t checked = 0;
  for (step_index const n : {1, 9, 14})
    each_any_plan(n, [&](any_schedule const& plan) {
      step_index const late = n > 8 ? 8 : 0, third = n > 3 ? 3 : 0;
      by_hand const all{
          n, {late == third ? std::vector<step_index>{0} : std::vector<step_index>{0, third, late}, {n - 1}, true}};
      auto const with = [&](auto const& inner) {
        auto const use = [&](auto const&... jump) {
          with_jumps const loop{held_step, inner,        held_bends(0),          held_swaps(0),
                                jump...,   held_bounces, held_twists_after(n - 1)};
          held x;
          if (cairn::gradient(loop.step, x, plan, held_seed, loop.adjoint) != all.gradient) FAIL("another gradient");
          held y;
          auto run = cairn::checkpointed_loop(loop.step, y, plan);
          if (y.x != all.last) FAIL("another final state");
          for (int again = 0; again < 2; ++again)
            if (run.reverse(held_seed, loop.adjoint) != all.gradient) FAIL("another gradient of a run");
        };
        if (late == third) use();
        else use(held_bends(third), held_swaps(third), held_bends(late), held_swaps(late));
      };
      with(moves_in_leaf);
      if (plan.leaf() == 1) with(reads), with(moves);
      ++checked;
    });
  CHECK(checked > 100);
}

TEST_CASE("an object whose bar is in the library jumps, with hooks, and a warm sweep saves into old snapshots") {
  by_hand const all{20, {{0, 7}, {7, 19}}};
  auto const bend_in_library = [](step_index i) {
    return jump_at(
        i, [](held& h, step_index at) { bend(h.x, at); },
        [](held& h, step_index at) { bend_back(h.x, h.bar, at), spoil(h); });
  };
  auto const swap_in_library = [](held& h) { h.bar = swap_back(h.x, h.bar); };
  auto const swap_held = [](held& h) { h.x = swap(h.x); };
  auto const twist_in_library = [](held& h, step_index at) { h.bar = twist_back(h.x, h.bar, at); };
  auto const twist_held = [](held& h, step_index at) { h.x = twist(h.x, at); };
  auto const try_with = [&](auto const& back, auto const& plan) {
    with_jumps const loop{held_step,
                          back,
                          bend_in_library(0),
                          jump_at(0, swap_held, swap_in_library),
                          bend_in_library(7),
                          jump_at(7, swap_held, swap_in_library),
                          jump_after(7, twist_held, twist_in_library),
                          jump_after(19, twist_held, twist_in_library)};
    auto work = cairn::workspace_for<held>(plan);
    for (int round = 0; round < 2; ++round) {
      held h;
      held::saved_again = 0;
      (void)cairn::gradient(loop.step, h, plan, library_seed, loop.adjoint, work);
      CHECK(h.bar == all.gradient);
    }
    CHECK(held::saved_again > 0);
    return 0;
  };
  try_with(in_library, cairn::revolve{20, 3});
  try_with(leaf_in_library, cairn::leaves{20, 6, cairn::revolve{4, 2}});

  vec2 inside{}, outside{};
  with_jumps const within{held_step,
                          cairn::hooked(moves,
                                        [&](held const& h, vec2&, step_index i) {
                                          if (i == 7) inside = h.x;
                                        }),
                          held_bends(7)};
  held h;
  (void)cairn::gradient(within.step, h, cairn::revolve{20, 3}, held_seed,
                        cairn::hooked(within.adjoint, [&](held const& at, vec2&, step_index i) {
                          if (i == 7) outside = at.x;
                        }));
  auto expected = kernels::states(7).back();
  CHECK(outside == expected);
  bend(expected, 7);
  CHECK(inside == expected);
}
