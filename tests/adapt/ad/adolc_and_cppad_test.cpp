// SPDX-License-Identifier: Apache-2.0
// Random programs with two loops and a tape for each, of ADOL-C, CppAD or one of each: reversed in turns, one in the
// other's functions, as its jump, kept side by side, stopped by exceptions, made and destroyed in between. Each loop
// must have the bits of storing its states and recording each step alone, before any other tape exists.
#include <cmath>
#include <memory>
#include <string>
#include <utility>
#include <vector>
#include <cairn/adapt/ad.hpp>
#include <cairn/adapt/adolc.hpp>
#include <cairn/adapt/cppad.hpp>
#include <cairn/cairn.hpp>
#include <cairn/run/with/jumps.hpp>
#include "fuzz/programs.hpp"

namespace fuzz {
namespace {

template <class T>
using vec = std::vector<T>;
using bar = cairn::state_and_params<vec<double>, double>;

/// Calls of models until one throws; 0 for never.
long models_left = 0;

/// What a step does: `kind` chooses among laws, two of which compare, and one of which changes the number of scalars.
struct step_law {
  int kind;
  template <class T, class Size>
  void go(vec<T>& x, T const& a, Size const& size) const {
    using std::sin;
    if (models_left > 0 && --models_left == 0) throw ::planned{0};
    std::size_t const m = x.size();
    switch (kind) {
      case 0: for (auto& v : x) v = v + a * v * (0.9 - v); break;
      case 1: for (auto& v : x) v = v - a * v * v * v; break;
      case 2: for (auto& v : x) v = v + a * size * v; break;
      case 3:
        if (x[0] > 0.5) x[0] = x[0] - a * size * x[0];
        else x[0] = x[0] + 0.3;
        break;
      case 4:
        if (size > 1.5) x[m - 1] = x[m - 1] * (1.0 - a);
        else x[m - 1] = sin(x[0]) + a;
        break;
      case 5: for (std::size_t k = 0; k < m; ++k) x[k] = x[k] + a * sin(x[(k + 1) % m]); break;
      default:
        x[0] = x[0] * (1.0 - a);
        if (m < 3) x.push_back(x[0] * a);
        else x.pop_back();
    }
  }
  [[nodiscard]] double size(step_index i) const { return 0.5 * double(i % 5); }
};
/// Its forms: for the first two one recording serves all leaves; the last is recorded anew for each.
struct always : step_law {
  template <class T>
  void operator()(vec<T>& x, T const& a) const { go(x, a, 1.25); }
};
struct by_data : step_law {
  [[nodiscard]] double at(step_index i) const { return size(i); }
  template <class T>
  void operator()(vec<T>& x, T const& a, T const& data) const { go(x, a, data); }
};
struct by_index : step_law {
  bool always = false;
  template <class T>
  void operator()(vec<T>& x, T const& a, step_index i) const { go(x, a, always ? 1.25 : size(i)); }
};

struct any_loop {
  virtual ~any_loop() = default;
  virtual void begin() = 0;
  virtual void step(vec<double>& x, step_index i) = 0;
  virtual void reverse(vec<double> const& x, bar& b, step_index first, step_index last) = 0;
  virtual void clear() = 0;
};
template <class Tape, class Model>
struct taped_loop final : any_loop {
  taped<Tape, Model, double> of;
  taped_loop(Model const& model, double a) : of{Tape{}, model, a} {}
  void begin() override { of.begin(); }
  void step(vec<double>& x, step_index i) override { of.step(x, i); }
  void reverse(vec<double> const& x, bar& b, step_index first, step_index last) override {
    of.adjoint(x, b, first, last);
  }
  void clear() override { of.clear(); }
};

/// A loop, its functions by a tape, and what it must come to.
class loop_by_tape {
 public:
  step_index n;
  vec<double> start;
  std::vector<vec<double>> states;
  bar gradient;

  explicit loop_by_tape(program& p) : n{p.from.in(1, 25)}, start(std::size_t(p.from.in(1, 3))) {
    by_adolc_ = p.from.one_of(2);
    constant_ = p.from.one_of(2);
    law_.kind = int(p.from.in(0, 6));
    a_ = 0.01 + 0.1 * p.from.unit();
    for (double& v : start) v = 0.2 + 0.6 * p.from.unit();
    p.tells(std::string{by_adolc_ ? "ADOL-C" : "CppAD"} + (constant_ ? ", the same" : ", by data") + ", law " +
            std::to_string(law_.kind) + ", " + std::to_string(n) + " steps, " + std::to_string(start.size()) +
            " numbers");
    states.push_back(start);
    for (step_index i = 0; i < n; ++i) {
      states.push_back(states.back());
      law_.go(states.back(), a_, constant_ ? 1.25 : law_.size(i));
    }
    auto const anew = made(true);
    gradient = seed(states.back());
    for (step_index i = n; i-- > 0;) anew->reverse(states[std::size_t(i)], gradient, i, i + 1);
    p.check(std::isfinite(gradient.params), "the oracle's gradient is finite");
    make();
  }
  /// A tape of its own, from here on.
  void make() {
    loop_.reset();
    loop_ = made(false);
    loop_->begin();
  }
  [[nodiscard]] any_loop& functions() const { return *loop_; }
  [[nodiscard]] static bar seed(vec<double> const& last) {
    bar b{last, 0};
    for (double& v : b.state) v = 1 + 0.5 * v;
    return b;
  }

 private:
  [[nodiscard]] std::unique_ptr<any_loop> made(bool anew) const {
    return by_adolc_ ? made_by<adolc_tape>(anew) : made_by<cppad_tape>(anew);
  }
  template <class Tape>
  [[nodiscard]] std::unique_ptr<any_loop> made_by(bool anew) const {
    if (anew) return std::make_unique<taped_loop<Tape, by_index>>(by_index{law_, constant_}, a_);
    if (constant_) return std::make_unique<taped_loop<Tape, always>>(always{law_}, a_);
    return std::make_unique<taped_loop<Tape, by_data>>(by_data{law_}, a_);
  }

  bool by_adolc_, constant_;
  step_law law_;
  double a_;
  std::unique_ptr<any_loop> loop_;
};

any_schedule plan_with_leaves(program& p, step_index n) {
  auto const flat = [&](step_index m) -> any_schedule {
    slot_index const s = random_slots(p.from, m);
    switch (p.from.in(0, 2)) {
      case 0: return store_all(m);
      case 1: return uniform{m, {.block = p.from.in(1, m + 2)}};
      default: return revolve{m, s};
    }
  };
  if (p.from.one_of(3)) return flat(n);
  step_index const size = p.from.in(1, 7);
  return leaves{n, size, flat((n + size - 1) / size)};
}
auto step_of(loop_by_tape const& l) {
  return [&l](vec<double>& x, step_index i) { l.functions().step(x, i); };
}
auto adjoint_of(loop_by_tape const& l) {
  return leaf([&l](vec<double> const& x, bar& b, step_index first, step_index last) {
    l.functions().reverse(x, b, first, last);
  });
}
void right(program& p, loop_by_tape const& l, bar const& found, char const* what) {
  p.check(found.state == l.gradient.state && found.params == l.gradient.params,
          std::string{what} + " has the bits of each step recorded alone");
}
void whole(program& p, loop_by_tape const& l, char const* what) {
  l.functions().begin();
  right(p, l, gradient(step_of(l), l.start, plan_with_leaves(p, l.n), loop_by_tape::seed, adjoint_of(l)), what);
}
/// Sometimes `run` is first stopped by an exception of a model.
template <class Run>
void perhaps_stopped(program& p, Run run) {
  if (p.from.one_of(3)) {
    models_left = p.from.in(1, 120);
    try {
      run();
    } catch (::planned const&) {
      ++seen.stops;
    }
    models_left = 0;
  }
  run();
  ++seen.sweeps;
}

/// Leaves of two loops, in turns.
void in_turns(program& p, loop_by_tape const& a, loop_by_tape const& b) {
  struct walk {
    loop_by_tape const& l;
    step_index open;
    bar at;
    explicit walk(loop_by_tape const& of) : l{of}, open{of.n}, at{loop_by_tape::seed(of.states.back())} {
      l.functions().begin();
    }
    void go(step_index steps) {
      step_index const first = open > steps ? open - steps : 0;
      l.functions().reverse(l.states[std::size_t(first)], at, first, open);
      open = first;
    }
  };
  perhaps_stopped(p, [&] {
    walk of_a{a}, of_b{b};
    step_index const size = p.from.in(1, 5);
    while (of_a.open > 0 || of_b.open > 0) {
      walk& next = of_b.open == 0 || (of_a.open > 0 && p.from.one_of(2)) ? of_a : of_b;
      next.go(p.from.one_of(4) ? p.from.in(1, 5) : size);
      if (p.from.one_of(30)) next.l.functions().clear();
    }
    right(p, a, of_a.at, "a loop in turns");
    right(p, b, of_b.at, "the other loop in turns");
  });
}
/// The whole gradient of one loop in the step, the seed and the adjoint of another.
void one_in_the_other(program& p, loop_by_tape const& a, loop_by_tape const& b) {
  auto const often = p.from.in(2, 10);
  auto const inside = [&](step_index i) {
    if (i % often == 1) whole(p, b, "a gradient in another");
  };
  perhaps_stopped(p, [&] {
    a.functions().begin();
    auto const step = [&](vec<double>& x, step_index i) {
      inside(i);
      a.functions().step(x, i);
    };
    auto const seed = [&](vec<double> const& x) {
      inside(1);
      return loop_by_tape::seed(x);
    };
    auto const adjoint = leaf([&](vec<double> const& x, bar& at, step_index first, step_index last) {
      inside(first);
      a.functions().reverse(x, at, first, last);
      inside(last);
    });
    right(p, a, gradient(step, a.start, plan_with_leaves(p, a.n), seed, adjoint), "a gradient around others");
  });
}
/// Steps of one loop as jumps of another.
void as_jumps(program& p, loop_by_tape const& a, loop_by_tape const& b) {
  if (a.states.back().size() != a.start.size()) return;  // one whose number of scalars may differ at a jump
  step_index const at = p.from.in(0, a.n - 1), every = p.from.in(2, 9);
  // what a jump adds goes to its own parameter
  auto const jump = [&](vec<double>& x, step_index i) { b.functions().step(x, i); };
  auto const jump_back = [&](double& sum) {
    return [&b, &sum](vec<double> const& x, bar& w, step_index i) {
      bar of_b{w.state, sum};
      b.functions().reverse(x, of_b, i, i + 1);
      w.state = of_b.state;
      sum = of_b.params;
    };
  };
  auto const due = [&](step_index i) { return i == at || i % every == 1; };
  // by hand: each step and jump with tapes that are cleared before
  std::vector<vec<double>> before, between;
  vec<double> x = a.start;
  a.functions().begin();
  b.functions().begin();
  for (step_index i = 0; i < a.n; ++i) {
    before.push_back(x);
    if (due(i)) jump(x, i);
    between.push_back(x);
    a.functions().step(x, i);
  }
  bar known = loop_by_tape::seed(x);
  double known_sum = 0, sum = 0;
  for (step_index i = a.n; i-- > 0;) {
    a.functions().clear();
    a.functions().reverse(between[std::size_t(i)], known, i, i + 1);
    b.functions().clear();
    if (due(i)) jump_back(known_sum)(before[std::size_t(i)], known, i);
  }
  if (!std::isfinite(known.params) || !std::isfinite(known_sum)) return;  // two laws together may grow without bound
  perhaps_stopped(p, [&] {
    sum = 0;
    a.functions().begin();
    b.functions().begin();
    with_jumps const jumps{step_of(a), adjoint_of(a),
                           jump_when([&](vec<double> const&, step_index i) { return due(i); }, jump, jump_back(sum))};
    auto const found = gradient(jumps.step, a.start, plan_with_leaves(p, a.n), loop_by_tape::seed, jumps.adjoint);
    p.check(found.state == known.state && found.params == known.params && sum == known_sum,
            "jumps by another tape have the bits of each step and jump recorded alone");
  });
}
/// Two kept runs, reversed in any order.
void kept(program& p, loop_by_tape const& a, loop_by_tape const& b) {
  perhaps_stopped(p, [&] {
    a.functions().begin();
    auto of_a = checkpointed_loop(step_of(a), a.start, plan_with_leaves(p, a.n));
    b.functions().begin();
    auto of_b = checkpointed_loop(step_of(b), b.start, plan_with_leaves(p, b.n));
    for (step_index k = p.from.in(1, 4); k > 0; --k)
      if (p.from.one_of(2)) right(p, a, of_a.reverse(loop_by_tape::seed, adjoint_of(a)), "a kept run");
      else right(p, b, of_b.reverse(loop_by_tape::seed, adjoint_of(b)), "another kept run");
  });
}

void two_tapes(program& p) {
  loop_by_tape a{p}, b{p};
  for (step_index k = p.from.in(1, 4); k > 0; --k) {
    auto const what = p.from.in(0, 5);
    p.tells(std::to_string(what));
    bool const swapped = p.from.one_of(2);
    loop_by_tape &one = swapped ? b : a, &other = swapped ? a : b;
    switch (what) {
      case 0: in_turns(p, one, other); break;
      case 1: one_in_the_other(p, one, other); break;
      case 2: as_jumps(p, one, other); break;
      case 3: kept(p, one, other); break;
      case 4: one.make(); break;
      default: one.functions().clear();
    }
  }
  whole(p, a, "a gradient at the end");
  whole(p, b, "another gradient at the end");
}

}  // namespace
}  // namespace fuzz

TEST_CASE("two tapes in one program have the bits of each step recorded alone, in any order", "[ad]") {
  fuzz::seen = {};
  fuzz::run_programs(1, 1'000, {fuzz::two_tapes});
  CHECK(fuzz::seen.sweeps > 1'000);
  CHECK(fuzz::seen.stops > 100);
}
TEST_CASE("programs with two tapes, as many as are asked for", "[.soak]") {
  fuzz::run_programs(4'000'000'000, fuzz::number_in("CAIRN_FUZZ_PROGRAMS", 100'000), {fuzz::two_tapes});
}
