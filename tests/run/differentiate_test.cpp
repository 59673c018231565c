// SPDX-License-Identifier: Apache-2.0
// Parameters and losses in the call: every form of step and adjoint, over all kinds of plans and objectives, has the
// bits of a loop that stores every state and is reversed by hand.
#include <cmath>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>
#include <cairn/cairn.hpp>
#include "support/catch.hpp"
#include "support/heap.hpp"
#include "support/plans.hpp"

using cairn::any_schedule;
using cairn::step_index;
using Catch::Matchers::ContainsSubstring;

namespace {

using vec = std::vector<double>;
struct rates {
  double a, b;
  bool operator==(rates const&) const = default;
};

// The step, its adjoint and two terms, as plain functions that every form calls.
void run(vec const& x, vec& y, rates const& p, step_index i) {
  double const u = x[0], v = x[1];
  y.assign({std::sin(p.a * u + 0.1 * v + 0.01 * double(i)), v + p.b * u * v * 0.1});
}
void run_back(vec const& x, vec& bar, rates const& p, rates& dp, step_index i) {
  double const u = x[0], v = x[1], c = std::cos(p.a * u + 0.1 * v + 0.01 * double(i)), s = bar[0], t = bar[1];
  dp.a += s * c * u;
  dp.b += t * u * v * 0.1;
  bar[0] = s * c * p.a + t * p.b * v * 0.1;
  bar[1] = s * c * 0.1 + t * (1 + p.b * u * 0.1);
}
double term(vec const& x, rates const& p, step_index i) { return x[0] * x[1] * p.a + x[1] * x[1] * double(i % 3); }
void term_back(vec const& x, vec& bar, rates const& p, rates& dp, step_index i) {
  bar[0] += x[1] * p.a;
  bar[1] += x[0] * p.a + 2 * x[1] * double(i % 3);
  dp.a += x[0] * x[1];
}
double last(vec const& x) { return x[0] + x[1] * x[1]; }
void last_back(vec const& x, vec& bar) {
  bar[0] += 1;
  bar[1] += 2 * x[1];
}

vec const start{0.4, 0.9};
rates const at{1.1, -0.3};

/// The loop that stores every state. \param states  a term each, as often as it is listed
cairn::derivatives<vec, rates> by_hand(step_index n, std::vector<step_index> const& states) {
  cairn::derivatives<vec, rates> all{0, vec(2, 0.0), rates{}};
  auto const each = [&](step_index i, auto f) {
    for (step_index const s : states)
      if (s == i) f();
  };
  std::vector<vec> x{start};
  for (step_index i = 0;; ++i) {
    each(i, [&] { all.value += term(x.back(), at, i); });
    if (i == n) break;
    vec y;
    run(x.back(), y, at, i);
    x.push_back(y);
  }
  all.value += last(x.back());
  for (step_index i = n;; --i) {
    auto const& now = x[std::size_t(i)];
    each(i, [&] { term_back(now, all.state, at, all.params, i); });
    if (i == n) last_back(now, all.state);
    if (i == 0) return all;
    run_back(x[std::size_t(i - 1)], all.state, at, all.params, i - 1);
  }
}

// The forms.
auto const in_place = [](vec& x, rates const& p, step_index i) {
  vec const from = x;
  run(from, x, p, i);
};
auto const by_value = [](vec const& x, rates const& p, step_index i) {
  vec y;
  run(x, y, p, i);
  return y;
};
auto const out_of_place = [](vec const& x, vec& x1, rates const& p, step_index i) { run(x, x1, p, i); };
auto const generic = [](auto& x, auto const& p, auto i) { in_place(x, p, i); };
auto const generic_out = [](auto const& x, auto& x1, auto const& p, auto i) { run(x, x1, p, i); };

auto const returned = [](vec const& x, vec const& bar, rates const& p, rates& dp, step_index i) {
  vec found = bar;
  run_back(x, found, p, dp, i);
  return found;
};
auto const with_next = [](vec const& x, vec const& x1, vec& bar, rates const& p, rates& dp, step_index i) {
  vec y;
  run(x, y, p, i);
  if (y != x1) throw std::logic_error{"x1 is not the next state"};
  run_back(x, bar, p, dp, i);
};
auto const generic_back = [](auto const& x, auto& bar, auto const& p, auto& dp, auto i) { run_back(x, bar, p, dp, i); };
auto const leaf = [](vec const& x, vec& bar, rates const& p, rates& dp, step_index first, step_index end) {
  std::vector<vec> all{x};
  for (step_index i = first; i + 1 < end; ++i) {
    vec y;
    run(all.back(), y, p, i);
    all.push_back(y);
  }
  for (step_index i = end; i-- > first;) run_back(all[std::size_t(i - first)], bar, p, dp, i);
};
auto const record = [](vec& x, rates const& p, step_index i) {
  vec tape = x;
  run(tape, x, p, i);
  return tape;
};
auto const reverse = [](vec const& tape, vec& bar, rates const& p, rates& dp, step_index i) {
  run_back(tape, bar, p, dp, i);
};

// A tape that can restart: it also holds the state after its step.
auto const record_both = [](vec& x, rates const& p, step_index i) {
  vec const before = record(x, p, i);
  return std::pair{before, x};
};
auto const reverse_first = [](std::pair<vec, vec> const& tape, vec& bar, rates const& p, rates& dp, step_index i) {
  run_back(tape.first, bar, p, dp, i);
};
auto const restart = [](std::pair<vec, vec> const& tape) { return tape.second; };

struct members {
  void step(vec& x, rates const& p, step_index i) const { in_place(x, p, i); }
  void adjoint(vec const& x, vec& bar, rates const& p, rates& dp, step_index i) const { run_back(x, bar, p, dp, i); }
};
struct template_members {
  template <class X, class P> void step(X& x, P const& p, step_index i) { in_place(x, p, i); }
  template <class X, class Bar, class P, class D>
  void adjoint(X const& x, Bar& bar, P const& p, D& dp, step_index i) { run_back(x, bar, p, dp, i); }
};

std::vector<step_index> terms_at(int kind, step_index n) {
  std::vector<step_index> all;
  if (kind == 0) all = {n, 0, n / 2, 0};
  if (kind == 1)
    for (step_index i = 3; i <= n; i += 3) all.push_back(i);
  if (kind == 2)
    for (step_index i = 0; i <= n; ++i) all.push_back(i);
  return all;
}

template <class Model>
void check(char const* form, Model m, any_schedule const& plan) {
  step_index const n = plan.steps();
  for (int kind = 0; kind < 4; ++kind) {
    auto const states = terms_at(kind, n);
    auto const right = by_hand(n, states);
    auto const found = cairn::differentiate(m, start, at, plan,
                                            cairn::at_states(states, term, term_back) + cairn::at_end(last, last_back));
    if (found.value != right.value || found.state != right.state || found.params != right.params)
      FAIL(form << ": other bits, terms of kind " << kind << ", " << n << " steps");
  }
}
template <class Model>
void check_flat(char const* form, Model m) {
  for (step_index const n : {0, 1, 2, 17, 60})
    for (any_schedule const& plan : {any_schedule{cairn::revolve{n, 1}}, any_schedule{cairn::revolve{n, 4}},
                                     any_schedule{cairn::store_all(n)}, any_schedule{cairn::uniform{n}}})
      check(form, m, plan);
}

}  // namespace

TEST_CASE("every form of a step with parameters and losses has the bits of storing all") {
  check_flat("in place", cairn::model{in_place, run_back});
  check_flat("by value", cairn::model{by_value, run_back});
  check_flat("out of place", cairn::model{out_of_place, run_back});
  check_flat("generic", cairn::model{generic, generic_back});
  check_flat("generic, out of place", cairn::model{generic_out, generic_back});
}

TEST_CASE("every form of an adjoint with parameters and losses has the bits of storing all") {
  check_flat("returns the bar", cairn::model{in_place, returned});
  check_flat("takes the next state", cairn::model{by_value, with_next});
  check_flat("takes the next state", cairn::model{out_of_place, with_next});
  check_flat("leaf", cairn::model{in_place, leaf});
  check_flat("recorded", cairn::model{in_place, cairn::recorded{record, reverse}});
}

TEST_CASE("a class with members is a model") {
  check_flat("members", members{});
  check_flat("template members", template_members{});
}

TEST_CASE("losses inside leaves and beside tapes have the bits of storing all") {
  for (step_index const n : {1, 5, 16, 61}) {
    for (step_index const length : {2, 4, 7}) {
      any_schedule const plan = cairn::leaves{n, length, cairn::revolve{(n + length - 1) / length, 2}};
      check("leaves, in place", cairn::model{in_place, leaf}, plan);
      check("leaves, by value", cairn::model{by_value, leaf}, plan);
      check("leaves, out of place", cairn::model{out_of_place, leaf}, plan);
    }
    check("all tapes", cairn::model{in_place, cairn::recorded{record, reverse}}, all_tapes(n));
    check("tapes that restart", cairn::model{in_place, cairn::recorded{record_both, reverse_first, restart}},
          every_other_tape(n));
    if (n > 1) check("mixed", cairn::model{in_place, cairn::recorded{record, reverse}}, cairn::mixed{n, 4});
  }
}

TEST_CASE("a leaf with no terms inside it is reversed in one call") {
  int calls = 0;
  auto const counted = [&](vec const& x, vec& bar, rates const& p, rates& dp, step_index first, step_index end) {
    ++calls, leaf(x, bar, p, dp, first, end);
  };
  cairn::leaves const plan{12, 4, cairn::store_all(3)};
  auto const found =
      cairn::differentiate(cairn::model{in_place, counted}, start, at, plan, cairn::at_end(last, last_back));
  CHECK(found.state == by_hand(12, {}).state);
  CHECK(calls == 3);
}

TEST_CASE("an objective without any term in the loop is refused before a step runs") {
  long calls = 0;
  cairn::model const half{[&](double& x) { ++calls, x /= 2; }, [](double, double& bar) { bar /= 2; }};
  auto const f = [](double x) { return x; };
  auto const df = [](double, double& bar) { bar += 1; };
  for (long n : {1L, 10L, 99L})
    CHECK_THROWS_WITH(cairn::differentiate(half, 1.0, n, cairn::at_every(100, f, df)),
                      ContainsSubstring("the objective has no term at any state of the loop"));
  CHECK_THROWS_AS(cairn::differentiate(half, 1.0, 10, cairn::at_states({}, f, df)), cairn::invalid_call);
  CHECK(calls == 0);
  CHECK(cairn::differentiate(half, 1.0, 100, cairn::at_every(100, f, df)).value > 0);
  CHECK(cairn::differentiate(half, 1.0, 0, cairn::at_every(100, f, df)).value == 0);  // no step, no state
  CHECK(cairn::differentiate(half, 1.0, 9, cairn::at_every(100, f, df) + cairn::at_end(f, df)).value > 0);
}
TEST_CASE("value_and_gradient takes plan and objective in either order") {
  cairn::model const half{[](double& x) { x /= 2; }, [](double, double& bar) { bar /= 2; }};
  auto const last = cairn::at_end([](double x) { return x; }, [](double, double& bar) { bar += 1; });
  cairn::value_and_gradient one{half, cairn::revolve{10, 3}, last}, other{half, last, cairn::revolve{10, 3}};
  CHECK(one(3.0).state == other(3.0).state);
  CHECK(one(3.0).value == other(3.0).value);
}
TEST_CASE("at_every sums a term over every k-th state but the first") {
  for (step_index const n : {0, 2, 3, 31}) {
    auto const right = by_hand(n, terms_at(1, n));
    auto const found = cairn::differentiate(cairn::model{in_place, run_back}, start, at, n,
                                            cairn::at_end(last, last_back) + cairn::at_every(3, term, term_back));
    CHECK(found.value == right.value);
    CHECK(found.state == right.state);
    CHECK(found.params == right.params);
  }
}

namespace {

struct misfit {
  double value(vec const& x, rates const& p, step_index i) const { return term(x, p, i); }
  void add_gradient(vec const& x, vec& bar, rates const& p, rates& dp, step_index i) const {
    term_back(x, bar, p, dp, i);
  }
};

}  // namespace

TEST_CASE("an object with a value and its gradient is a term") {
  step_index const n = 20;
  auto const right = by_hand(n, terms_at(0, n));
  auto const found = cairn::differentiate(cairn::model{in_place, run_back}, start, at, cairn::revolve{n, 3},
                                          cairn::at_states(terms_at(0, n), misfit{}) + cairn::at_end(last, last_back));
  CHECK(found.value == right.value);
  CHECK(found.params == right.params);
}

TEST_CASE("without parameters a result has two parts") {
  auto const step = [](double& x) { x = std::sin(x); };
  auto const back = [](double x, double& bar) { bar *= std::cos(x); };
  auto const [value, by_state] = cairn::differentiate(
      cairn::model{step, back}, 2.1, cairn::revolve{20, 4},
      cairn::at_end([](double x) { return x * x / 2; }, [](double x, double& bar) { bar += x; }));
  double x = 2.1, slope = 1;
  for (int i = 0; i < 20; ++i) slope *= std::cos(x), x = std::sin(x);
  CHECK(value == x * x / 2);
  CHECK(by_state == Approx(x * slope).epsilon(1e-13));
}

namespace {

/// An object that cannot be copied; counts how often it is restored.
class solver {
 public:
  explicit solver(double u) : u_{u} {}
  solver(solver const&) = delete;
  [[nodiscard]] double u() const { return u_; }
  void go(double p) { u_ = std::sin(p * u_); }
  [[nodiscard]] double save() const { return u_; }
  void restore(double u) { u_ = u; }

 private:
  double u_;
};
struct solver_model {
  void step(solver& x, double const& p) const { x.go(p); }
  void adjoint(solver& x, double& bar, double const& p, double& dp) const {  // leaves the object elsewhere
    double const c = bar * std::cos(p * x.u());
    dp += c * x.u();
    bar = c * p;
    x.restore(-7);
  }
  [[nodiscard]] double bar(solver const&) const { return 0; }
};
auto const height = [](solver const& x, double, step_index i) { return x.u() * x.u() * double(i + 1); };
auto const height_back = [](solver const& x, double& bar, double, double&, step_index i) {
  bar += 2 * x.u() * double(i + 1);
};

/// The same by hand.
cairn::derivatives<double, double> solved(step_index n, std::vector<step_index> const& states) {
  std::vector<double> x{2.1};
  for (step_index i = 0; i < n; ++i) x.push_back(std::sin(1.3 * x.back()));
  cairn::derivatives<double, double> all;
  for (step_index const s : states) all.value += x[std::size_t(s)] * x[std::size_t(s)] * double(s + 1);
  for (step_index i = n;; --i) {
    for (step_index const s : states)
      if (s == i) all.state += 2 * x[std::size_t(i)] * double(i + 1);
    if (i == 0) return all;
    double const c = all.state * std::cos(1.3 * x[std::size_t(i - 1)]);
    all.params += c * x[std::size_t(i - 1)];
    all.state = c * 1.3;
  }
}

}  // namespace

TEST_CASE("an object's adjoint may move it where the objective looks next") {
  for (step_index const n : {0, 1, 2, 40}) {
    std::vector<step_index> const states{0, n / 3, n};
    auto const right = solved(n, states);
    for (any_schedule const& plan : {any_schedule{cairn::revolve{n, 3}}, any_schedule{cairn::store_all(n)}}) {
      solver one{2.1};
      auto const found = cairn::differentiate(solver_model{}, one, 1.3, plan,
                                              cairn::at_states(states, height, height_back));
      CHECK(found.value == right.value);
      CHECK(found.state == right.state);
      CHECK(found.params == right.params);
    }
  }
}

TEST_CASE("an object's leaves and tapes with losses have the bits of storing all") {
  auto const step = [](solver& x, double const& p) { x.go(p); };
  auto const no_slope = [](solver const&) { return 0.0; };
  auto const leaf_of = [](solver& x, double& bar, double const& p, double& dp, step_index first, step_index end) {
    std::vector<double> all{x.u()};
    for (step_index i = first; i + 1 < end; ++i) all.push_back(std::sin(p * all.back()));
    for (std::size_t k = all.size(); k-- > 0;) {
      double const c = bar * std::cos(p * all[k]);
      dp += c * all[k];
      bar = c * p;
    }
    x.restore(3);
  };
  auto const tape = [](solver& x, double const& p) {
    double const u = x.u();
    x.go(p);
    return u;
  };
  auto const tape_back = [](double u, double& bar, double const& p, double& dp) {
    double const c = bar * std::cos(p * u);
    dp += c * u;
    bar = c * p;
  };
  step_index const n = 30;
  std::vector<step_index> const states{0, 1, 7, 8, 9, 22, n};
  auto const right = solved(n, states);
  double end = 2.1;
  for (step_index i = 0; i < n; ++i) end = std::sin(1.3 * end);
  auto const check_one = [&](auto m, any_schedule const& plan) {
    for (auto const ends : {cairn::object_ends::anywhere, cairn::object_ends::at_initial, cairn::object_ends::at_final}) {
      solver one{2.1};
      auto const found = cairn::differentiate(m, one, 1.3, plan, cairn::at_states(states, height, height_back), ends);
      CHECK(found.value == right.value);
      CHECK(found.state == right.state);
      CHECK(found.params == right.params);
      if (ends != cairn::object_ends::anywhere) CHECK(one.u() == (ends == cairn::object_ends::at_final ? end : 2.1));
    }
  };
  check_one(cairn::model{step, leaf_of, no_slope}, cairn::leaves{n, 5, cairn::revolve{6, 2}});
  check_one(cairn::model{step, leaf_of, no_slope}, cairn::revolve{n, 3});
  check_one(cairn::model{step, cairn::recorded{tape, tape_back}, no_slope}, cairn::revolve{n, 3});
  check_one(cairn::model{step, cairn::recorded{tape, tape_back}, no_slope}, all_tapes(n));
  // An observer finds the object in the same states, whether the terms have moved it in between or not.
  auto const seen = [&](std::vector<step_index> const& terms) {
    vec all;
    solver one{2.1};
    auto const watch = [&](cairn::event const& e) {
      e.each_buffer([&](void const* bytes, std::size_t) { all.push_back(*static_cast<double const*>(bytes)); });
    };
    (void)cairn::differentiate(cairn::model{step, cairn::recorded{tape, tape_back}, no_slope}, one, 1.3, all_tapes(n),
                               cairn::at_states(terms, height, height_back), watch);
    return all;
  };
  CHECK(seen(states) == seen({n}));
  CHECK(seen({n}).size() > std::size_t(n));
}

TEST_CASE("a loop that ends when its state says so has the bits of one whose length is known") {
  auto const step = [](double& x, double const& p) { x = std::cos(p * x); };
  auto const back = [](double x, double& bar, double const& p, double& dp) {
    double const s = -bar * std::sin(p * x);
    dp += s * x;
    bar = s * p;
  };
  auto const f = [](double x, double const&) { return x; };
  auto const df = [](double, double& bar, double const&, double&) { bar += 1; };
  auto const more = [](double x, double const& p) { return std::abs(x - std::cos(p * x)) > 1e-9; };
  auto const loss = cairn::at_every(1, f, df) + cairn::at_states({0}, f, df);
  auto const open = cairn::differentiate(cairn::model{step, back}, 0.3, 0.9, cairn::run_while{more, cairn::online{5}}, loss);
  step_index n = 0;
  for (double x = 0.3; more(x, 0.9); ++n) step(x, 0.9);
  auto const closed = cairn::differentiate(cairn::model{step, back}, 0.3, 0.9, cairn::store_all(n), loss);
  CHECK(n == 37);
  CHECK(open.value == closed.value);
  CHECK(open.state == closed.state);
  CHECK(open.params == closed.params);
}

TEST_CASE("a term at a state that is never reached is refused") {
  auto const objective = cairn::at_states({3, 21}, term, term_back);
  long steps = 0;
  auto const counted = [&](vec& x, rates const& p, step_index i) {
    ++steps;
    in_place(x, p, i);
  };
  cairn::model m{counted, run_back};
  CHECK_THROWS_WITH(cairn::differentiate(m, start, at, 20, objective),
                    ContainsSubstring("does not reach") && ContainsSubstring("state = 21") && ContainsSubstring("steps = 20"));
  CHECK(steps == 0);
  CHECK_THROWS_WITH(cairn::differentiate(m, start, at, cairn::budget_of{20, "1MB"}, objective), ContainsSubstring("21"));
  CHECK(steps == 0);
  auto const more = [](vec const&, step_index i) { return i < 20; };
  CHECK_THROWS_WITH(cairn::differentiate(m, start, at, cairn::run_while{more, cairn::online{4}}, objective),
                    ContainsSubstring("state = 21"));
}

TEST_CASE("parameters that change during the call are an error") {
  double p = 0.9, forward = 0.8, backward = 0.9;  // seen at the end of the loop, though p is then what it was again
  auto const step = [&](double& x, double const& q) {
    x = std::sin(q * x);
    p = forward;
  };
  auto const back = [&](double x, double& bar, double const& q, double& dq) {
    dq += bar * x, bar *= q;
    p = backward;
  };
  auto const f = cairn::at_end([](double x) { return x; }, [](double, double& bar) { bar += 1; });
  auto const call = [&] { (void)cairn::differentiate(cairn::model{step, back}, 2.1, p, 5, f); };
  CHECK_THROWS_WITH(call(), ContainsSubstring("have changed"));
  p = forward = 0.9, backward = 0.8;
  CHECK_THROWS_WITH(call(), ContainsSubstring("have changed"));
}

TEST_CASE("value_and_gradient has the bits of differentiate, and a warm call allocates nothing") {
  auto const objective = cairn::at_every(5, term, term_back) + cairn::at_end(last, last_back);
  step_index const n = 40;
  cairn::value_and_gradient f{cairn::model{out_of_place, run_back}, cairn::budget_of{n, "2kB"}, objective};
  rates p = at;
  for (int k = 0; k < 4; ++k) {
    heap::mark const before;
    auto const& [value, by_state, by_params] = f(start, p);
    std::size_t const allocated = before.allocated();
    if (k > 0) CHECK(allocated == 0);
    auto const right = cairn::differentiate(members{}, start, p, cairn::store_all(n), objective);
    CHECK(value == right.value);
    CHECK(by_state == right.state);
    CHECK(by_params == right.params);
    p.a -= 0.01 * by_params.a;
  }
}

TEST_CASE("a value alone is that of the gradient's call, bit for bit, with one call of each step and term") {
  auto const objective = cairn::at_every(5, term, term_back) + cairn::at_states({0, 7, 40}, term, term_back) +
                         cairn::at_end(last, last_back);
  for (step_index const n : {40, 41}) {
    auto const same = [&](auto step) {
      cairn::value_and_gradient f{cairn::model{step, run_back}, cairn::revolve{n, 3}, objective};
      auto const first = f.value(start, at);
      CHECK(first == f(start, at).value);
      rates other = at;
      other.a *= 0.7;
      CHECK(f.value(start, other) == f(start, other).value);
      CHECK(f.value(start, at) == first);
    };
    same(in_place), same(by_value), same(out_of_place);
  }
  long steps = 0, terms = 0;
  cairn::model const m{[&](double& x, double p) { ++steps, x = std::sin(p * x); },
                       [](double x, double& bar, double p, double& dp) {
                         double const c = bar * std::cos(p * x);
                         dp += c * x, bar = c * p;
                       }};
  auto const square = cairn::at_every(1, [&](double x, double) { return ++terms, x * x; },
                                      [](double x, double& bar, double, double&) { bar += 2 * x; });
  cairn::value_and_gradient f{m, cairn::revolve{100, 4}, square};
  double const alone = f.value(2.1, 1.3);
  CHECK(steps == 100);
  CHECK(terms == 100);
  CHECK(alone == f(2.1, 1.3).value);
  cairn::value_and_gradient until{m, cairn::run_while{[](double x, double p, step_index i) { return i < 30 && x > p / 9; }, cairn::online{4}},
                                  square};
  double const ended = until.value(2.1, 1.3);
  CHECK(ended == until(2.1, 1.3).value);
  CHECK(ended != alone);
  for (step_index const n : {0, 1, 40}) {  // an object is brought back, where its adjoint leaves it elsewhere
    cairn::value_and_gradient g{solver_model{}, cairn::revolve{n, 3}, cairn::at_states({0, n}, height, height_back)};
    solver one{2.1};
    double const found = g.value(one, 1.3);
    CHECK(one.u() == 2.1);
    CHECK(found == solved(n, {0, n}).value);
  }
  cairn::value_and_gradient far{m, cairn::revolve{9, 3}, cairn::at_states({10}, [](double x, double) { return x; },
                                                                          [](double, double& b, double, double&) { b += 1; })};
  CHECK_THROWS_WITH(far.value(2.1, 1.3), ContainsSubstring("does not reach"));
}

TEST_CASE("a report says what a budget chose and what the sweep did") {
  cairn::sweep_report report;
  step_index const n = 200;
  auto const found = cairn::differentiate(members{}, start, at, cairn::budget_of{n, "2kB"},
                                          cairn::at_end(last, last_back), report);
  CHECK(found.state == by_hand(n, {}).state);
  CHECK(report.steps == n);
  auto const cost = cairn::estimate(cairn::revolve{n, report.slots},
                                    {.state_bytes = cairn::bytes_of(start), .adjoint_bytes = cairn::bytes_of(start)});
  CHECK(bool(report.step_calls == cost.step_calls));
  CHECK(bool(report.state_bytes == cairn::wide(cost.peak_states) * cairn::bytes_of(start)));
  CHECK(bool(report.predicted_bytes == cost.peak_bytes + 2 * sizeof(rates)));
  CHECK(bool(report.predicted_bytes <= 2000));
  CHECK(bool(cairn::estimate(cairn::revolve{n, report.slots + 1}, {.state_bytes = cairn::bytes_of(start),
                                                                  .adjoint_bytes = cairn::bytes_of(start)})
                 .peak_bytes + 2 * sizeof(rates) > 2000));
}
