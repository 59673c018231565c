// SPDX-License-Identifier: Apache-2.0
// Random models with parameters and losses against a loop that stores every state and is reversed by hand: forms of
// step and adjoint, plans, budgets, objects, loops of unknown length, kept runs and `wrt`. Bits must agree.
#include <cmath>
#include <string>
#include <utility>
#include <vector>
#include <cairn/cairn.hpp>
#include "fuzz/programs.hpp"

namespace fuzz {
namespace {

using vec = std::vector<double>;

/// The numbers that a random model is made of.
struct shape {
  double a, b, c;
  step_index period;  // terms count the states modulo this
};
shape now;  // of the program that runs

void go(vec const& x, vec& y, vec const& p, step_index i) {
  std::size_t const m = x.size(), q = p.size();
  y.resize(m);
  for (std::size_t k = 0; k < m; ++k)
    y[k] = std::sin(now.a * x[k] + p[k % q] * x[(k + 1) % m]) + now.b * x[k] + now.c * double(i % 5);
}
void go_back(vec const& x, vec& bar, vec const& p, vec& dp, step_index) {
  std::size_t const m = x.size(), q = p.size();
  vec const w = bar;
  for (std::size_t k = 0; k < m; ++k) bar[k] = now.b * w[k];
  for (std::size_t k = 0; k < m; ++k) {
    double const c = w[k] * std::cos(now.a * x[k] + p[k % q] * x[(k + 1) % m]);
    bar[k] += c * now.a;
    bar[(k + 1) % m] += c * p[k % q];
    dp[k % q] += c * x[(k + 1) % m];
  }
}
double term(vec const& x, vec const& p, step_index i) { return x[0] * p[0] * double(i % now.period + 1); }
void term_back(vec const& x, vec& bar, vec const& p, vec& dp, step_index i) {
  double const w = double(i % now.period + 1);
  bar[0] += p[0] * w;
  dp[0] += x[0] * w;
}
double last(vec const& x) { return x.back() * x.back() / 2; }
void last_back(vec const& x, vec& bar) { bar.back() += x.back(); }

struct answer {
  double value;
  vec state, params;
};
struct task {
  step_index n, every;
  vec x0, p;
  std::vector<step_index> states;
  bool end;

  explicit task(program& from)
      : n{from.from.one_of(8) ? from.from.in(0, 2) : from.from.in(3, 60)}, every{from.from.in(1, 9)},
        x0(std::size_t(from.from.in(1, 4))), p(std::size_t(from.from.in(1, 3))), end{!from.from.one_of(4)} {
    auto const number = [&] { return from.from.unit() * 2 - 1; };
    now = {number(), number() / 2, number() / 10, from.from.in(1, 4)};
    for (double& v : x0) v = number();
    for (double& v : p) v = number();
    for (step_index k = from.from.in(0, 4); k > 0; --k) states.push_back(from.from.in(0, n));
    from.tells(std::to_string(n) + " steps, a term at every " + std::to_string(every) + " steps and at " +
               std::to_string(states.size()) + " states");
  }
  [[nodiscard]] auto objective() const {
    std::vector<step_index> all = states;
    if (!end) all.push_back(0);
    return at_every(every, term, term_back) + at_states(all, term, term_back) + at_end(last, last_back);
  }
  [[nodiscard]] step_index times(step_index i) const {
    step_index sum = !end && i == 0;
    for (step_index const s : states) sum += s == i;
    return sum;
  }
  /// Every state stored, and reversed in the order of the library: terms of a state from left to right.
  [[nodiscard]] answer by_hand() const {
    std::vector<vec> all{x0};
    double value = 0;
    auto const terms = [&](step_index i, auto f) {
      for (step_index k = i > 0 && i % every == 0; k > 0; --k) f();
      for (step_index k = times(i); k > 0; --k) f();
    };
    for (step_index i = 0;; ++i) {
      terms(i, [&] { value += term(all.back(), p, i); });
      if (i == n) break;
      vec y;
      go(all.back(), y, p, i);
      all.push_back(std::move(y));
    }
    value += last(all.back());
    vec bar(x0.size(), 0.0), dp(p.size(), 0.0);
    for (step_index i = n;; --i) {
      auto const& x = all[std::size_t(i)];
      terms(i, [&] { term_back(x, bar, p, dp, i); });
      if (i == n) last_back(x, bar);
      if (i == 0) return {value, bar, dp};
      go_back(all[std::size_t(i - 1)], bar, p, dp, i - 1);
    }
  }
};

template <class Found>
void compare(program& p, Found const& found, answer const& right) {
  p.check(found.value == right.value, "the value of storing everything");
  p.check(found.state == right.state, "the gradient by the initial state of storing everything");
  p.check(found.params == right.params, "the gradient by the parameters of storing everything");
}

// The forms.
auto const in_place_step = [](vec& x, vec const& p, step_index i) {
  vec y;
  go(x, y, p, i);
  x = y;
};
auto const value_step = [](vec const& x, vec const& p, step_index i) {
  vec y;
  go(x, y, p, i);
  return y;
};
auto const other_step = [](vec const& x, vec& y, vec const& p, step_index i) { go(x, y, p, i); };
auto const back_by_value = [](vec const& x, vec const& bar, vec const& p, vec& dp, step_index i) {
  vec w = bar;
  go_back(x, w, p, dp, i);
  return w;
};
auto const back_with_next = [](vec const& x, vec const& x1, vec& bar, vec const& p, vec& dp, step_index i) {
  vec y;
  go(x, y, p, i);
  if (y != x1) throw fault{"x1 is the next state"};
  go_back(x, bar, p, dp, i);
};
auto const back_leaf = [](vec const& x, vec& bar, vec const& p, vec& dp, step_index first, step_index end) {
  std::vector<vec> all{x};
  for (step_index i = first; i + 1 < end; ++i) {
    vec y;
    go(all.back(), y, p, i);
    all.push_back(std::move(y));
  }
  for (step_index i = end; i-- > first;) go_back(all[std::size_t(i - first)], bar, p, dp, i);
};
auto const record = [](vec& x, vec const& p, step_index i) {
  vec const before = x;
  in_place_step(x, p, i);
  return before;
};
auto const reverse = [](vec const& tape, vec& bar, vec const& p, vec& dp, step_index i) {
  go_back(tape, bar, p, dp, i);
};

any_schedule plan_in_memory(program& p, step_index n, bool leaves_too) {
  slot_index const s = random_slots(p.from, n);
  auto const flat = [&](step_index m) -> any_schedule {
    switch (p.from.in(0, 4)) {
      case 0: return store_all(m);
      case 1: return uniform{m, {.block = p.from.in(1, m + 3)}};
      case 2: return online{s}.stopping_at(m);
      case 3: return action_list_from(revolve{m, s});
      default: return revolve{m, s};
    }
  };
  if (!leaves_too || p.from.one_of(3)) return flat(n);
  step_index const size = p.from.in(1, 7);
  return leaves{n, size, flat((n + size - 1) / size)};
}
template <class Model>
void models(program& p, Model const& m, bool leaves_too = false) {
  task const t{p};
  answer const right = t.by_hand();
  compare(p, differentiate(m, t.x0, t.p, plan_in_memory(p, t.n, leaves_too), t.objective()), right);
}
void forward_forms(program& p) {
  switch (p.from.in(0, 2)) {
    case 0: return models(p, model{in_place_step, go_back});
    case 1: return models(p, model{value_step, back_with_next});
    default: return models(p, model{other_step, back_by_value});
  }
}
void leaf_forms(program& p) {
  switch (p.from.in(0, 2)) {
    case 0: return models(p, model{in_place_step, back_leaf}, true);
    case 1: return models(p, model{value_step, back_leaf}, true);
    default: return models(p, model{other_step, back_leaf}, true);
  }
}
void tapes(program& p) {
  task const t{p};
  answer const right = t.by_hand();
  any_schedule const plan = p.from.one_of(3)   ? any_schedule{all_tapes(t.n)}
                            : p.from.one_of(2) ? any_schedule{mixed{t.n, p.from.in(1, t.n + 4)}}
                                               : plan_in_memory(p, t.n, false);
  compare(p, differentiate(model{in_place_step, cairn::recorded{record, reverse}}, t.x0, t.p, plan, t.objective()), right);
}
void budgets(program& p) {
  task const t{p};
  answer const right = t.by_hand();
  sweep_report report;
  wide const bytes = wide(p.from.in(600, 6000));
  try {
    compare(p, differentiate(model{other_step, go_back}, t.x0, t.p, budget_of{t.n, byte_size{bytes}}, t.objective(),
                             report), right);
    p.check(report.predicted_bytes <= bytes, "no more bytes than the budget");
  } catch (infeasible_budget const&) {
    p.check(budget_of{t.n, byte_size{bytes}}.bytes_of_plan(1, {.step = step_form::out_of_place},
                                                           sweep_sizes{.state = bytes_of(t.x0),
                                                                       .state_inline = sizeof(vec),
                                                                       .initial = bytes_of(t.x0),
                                                                       .adjoint = bytes_of(t.x0)}) +
                    2 * bytes_of(t.p) > bytes,
            "a budget that one slot would keep is not refused");
  }
}
void open_loops(program& p) {
  task const t{p};
  answer const right = t.by_hand();
  auto const more = [&](vec const&, vec const&, step_index i) { return i < t.n; };
  compare(p, differentiate(model{other_step, go_back}, t.x0, t.p, run_while{more, online{p.from.in(1, 9)}},
                           t.objective()), right);
}
void functions(program& p) {
  value_and_gradient f{model{in_place_step, go_back}, budget_of{0, "1MB"}, at_end(last, last_back)};
  task const t{p};
  value_and_gradient g{model{in_place_step, go_back}, plan_in_memory(p, t.n, false), t.objective()};
  answer const right = t.by_hand();
  for (int round = 0; round < 3; ++round) compare(p, g(t.x0, t.p), right);
}
/// Sweeps whose seed is the last term: gradients with `wrt`, and runs that are kept.
void with_wrt(program& p) {
  task t{p};
  t.states.clear(), t.end = true, t.every = t.n + 1;
  answer const right = t.by_hand();
  auto const seed = [](vec const& x) {
    vec bar(x.size(), 0.0);
    last_back(x, bar);
    return bar;
  };
  any_schedule const plan = plan_in_memory(p, t.n, false);
  vec dp(5, 7.0);
  if (p.from.one_of(2)) {
    vec const g = gradient(other_step, t.x0, plan, seed, go_back, wrt{t.p, dp});
    p.check(g == right.state && dp == right.params, "the gradient of storing everything, with wrt");
    return;
  }
  auto run = checkpointed_loop(in_place_step, t.x0, plan, wrt{t.p, dp});
  for (int round = 0; round < 2; ++round) {
    vec other;
    vec const g = run.reverse(seed, back_by_value), h = run.reverse(seed, back_by_value, other);
    p.check(g == right.state && dp == right.params, "the gradient of storing everything, of a kept run");
    p.check(h == right.state && other == right.params, "the same with another place for the sum");
  }
}

/// An object around the same step.
class solver {
 public:
  explicit solver(vec x) : x_{std::move(x)} {}
  solver(solver const&) = delete;
  [[nodiscard]] vec const& x() const { return x_; }
  void go_on(vec const& p, step_index i) { in_place_step(x_, p, i); }
  void spoil() { x_.assign(x_.size(), 99.0); }
  [[nodiscard]] vec save() const { return x_; }
  void restore(vec const& x) { x_ = x; }

 private:
  vec x_;
};
void objects(program& p) {
  task const t{p};
  answer const right = t.by_hand();
  auto const step = [](solver& x, vec const& q, step_index i) { x.go_on(q, i); };
  auto const bar = [](solver const& x) { return vec(x.x().size(), 0.0); };
  auto const f = [](solver const& x, vec const& q, step_index i) { return term(x.x(), q, i); };
  auto const df = [](solver const& x, vec& b, vec const& q, vec& dq, step_index i) { term_back(x.x(), b, q, dq, i); };
  std::vector<step_index> all = t.states;
  if (!t.end) all.push_back(0);
  auto const objective = at_every(t.every, f, df) + at_states(all, f, df) +
                         at_end([](solver const& x) { return last(x.x()); },
                                [](solver const& x, vec& b) { last_back(x.x(), b); });
  solver one{t.x0};
  if (p.from.one_of(3)) {
    auto const back = [](solver const& x, vec& b, vec const& q, vec& dq, step_index i) { go_back(x.x(), b, q, dq, i); };
    compare(p, differentiate(model{step, back, bar}, one, t.p, plan_in_memory(p, t.n, false), objective), right);
  } else if (p.from.one_of(2)) {
    auto const back = [](solver& x, vec& b, vec const& q, vec& dq, step_index i) {
      go_back(x.x(), b, q, dq, i);
      x.spoil();
    };
    compare(p, differentiate(model{step, back, bar}, one, t.p, plan_in_memory(p, t.n, false), objective), right);
  } else {
    auto const back = [](solver& x, vec& b, vec const& q, vec& dq, step_index first, step_index end) {
      back_leaf(x.x(), b, q, dq, first, end);
      x.spoil();
    };
    compare(p, differentiate(model{step, back, bar}, one, t.p, plan_in_memory(p, t.n, true), objective), right);
  }
}

void run_models(unsigned long first, unsigned long count) {
  run_programs(first, count, {forward_forms, leaf_forms, tapes, budgets, open_loops, functions, with_wrt, objects});
}

}  // namespace
}  // namespace fuzz

TEST_CASE("random models with parameters and losses have the bits of storing everything") { fuzz::run_models(1, 4'000); }
TEST_CASE("random models, as many as are asked for", "[.soak]") {
  fuzz::run_models(3'000'000'000, fuzz::number_in("CAIRN_FUZZ_PROGRAMS", 100'000));
}
