// SPDX-License-Identifier: Apache-2.0
// What `taped` and `differentiate` promise whatever the tool is: kinds of states, objectives, controls, loops, lengths,
// misuse. Over a stand-in for a tool, whose every number is exact here where the mathematics is.
#include <array>
#include <cmath>
#include <cstddef>
#include <deque>
#include <optional>
#include <stdexcept>
#include <tuple>
#include <utility>
#include <vector>
#include <cairn/adapt/ad.hpp>
#include <cairn/adapt/codipack.hpp>
#include <cairn/adapt/xad.hpp>
#include <cairn/cairn.hpp>
#include <cairn/core/bytes.hpp>
#include <cairn/profile/measured.hpp>
#include <cairn/run/check/check_adjoint.hpp>
#include "adapt/ad/cases.hpp"
#include "support/catch.hpp"

using cairn::step_index;
namespace {

using tape = cairn::codipack_tape<>;
using numbers = std::vector<double>;
template <class T>
using vec = std::vector<T>;
/// Numbers between two that are not differentiated.
template <class T>
struct framed : vec<T> {};

}  // namespace

template <class To>
struct cairn::rebind_scalar<framed<double>, To> {
  using type = framed<To>;
  static void shape(framed<double> const& from, framed<To>& into) { into.assign(from.begin(), from.end()); }
  template <class Framed, class F>
  static void visit(Framed& x, F f) { f(x[1]), f(x[2]), f(x[3]); }
};

namespace {

/// x <- a x (1 - x) for each number; the gradient of a logistic map.
struct logistic {
  template <class T>
  void operator()(vec<T>& x, T const& a, step_index) const {
    for (auto& v : x) v = a * v * (1.0 - v);
  }
};
/// Its visitors are copied.
struct scaled {
  template <class T>
  void operator()(framed<T>& x, T const& a, step_index) const {
    for (std::size_t k = 1; k < 4; ++k) x[k] = a * x[k];
  }
};
struct weighted_sum {
  template <class T>
  T operator()(framed<T> const& x) const { return x[1] + 2.0 * x[2] + 3.0 * x[3]; }
};
struct sum_of_all {
  template <class T>
  T operator()(vec<T> const& x) const {
    T sum = 0.0;
    for (auto const& v : x) sum += v;
    return sum;
  }
};

// One state with every kind of part.
enum class mode { slow, fast };
template <class T>
struct inner {
  std::optional<T> extra;
  T rows[2]{};
};
template <class T>
struct mixed {
  vec<T> u;
  std::array<T, 2> pair{};
  std::tuple<T, int> counted{};
  inner<T> in;
  vec<vec<T>> table;
  double dx = 0.5;          // a constant: double whatever T is
  numbers grid{1, 2};       // constants, too
  step_index count = 0;     // moves on, and is not differentiated
  bool flag = false;
  mode how = mode::slow;
};
struct mixed_model {
  template <class T>
  void operator()(mixed<T>& x, T const& a, step_index i) const {
    for (std::size_t k = 0; k < x.u.size(); ++k) x.u[k] = x.u[k] + x.dx * x.grid[k] * a * x.pair[k];
    x.pair[0] = x.pair[0] * (x.flag ? 1.5 : 0.5);
    std::get<0>(x.counted) += x.u[0] * double(std::get<1>(x.counted));
    ++std::get<1>(x.counted);
    if (x.in.extra) *x.in.extra = *x.in.extra * a;
    x.in.rows[1] = x.in.rows[0] + x.in.rows[1];
    x.table[1][0] = x.table[0][0] * x.table[1][0];
    ++x.count;
    x.flag = x.count % 2 == 1;
    x.how = i > 1 ? mode::fast : mode::slow;
  }
};
struct mixed_sum {
  template <class T>
  T operator()(mixed<T> const& x) const {
    T sum = x.u[0] + 2.0 * x.u[1] + 3.0 * std::get<0>(x.counted) + x.pair[0] + x.in.rows[1] + x.table[1][0];
    if (x.in.extra) sum += *x.in.extra;
    return sum;
  }
};
mixed<double> mixed_start() {
  mixed<double> x;
  x.u = {0.3, 0.7};
  x.pair = {1.25, 0.75};
  x.counted = {0.5, 2};
  x.in = {0.9, {0.4, 0.6}};
  x.table = {{1.1}, {0.8}};
  return x;
}

/// The same map with a control in each step.
struct controlled_map {
  template <class T>
  void operator()(vec<T>& x, T const& a, T const& u, step_index) const {
    for (auto& v : x) v = a * v + u * v * v;
  }
};

/// Takes steps of sizes that something else has chosen.
struct decay {
  numbers const* const* sizes;
  template <class T>
  void operator()(vec<T>& x, T const& rate, step_index i) const {
    x[0] = x[0] - (**sizes)[std::size_t(i)] * rate * x[0] * x[0];
  }
};
struct failing {
  int* left;
  template <class T>
  void operator()(vec<T>& x, T const& a, step_index i) const {
    if ((*left)-- == 0) throw std::runtime_error{"no"};
    logistic{}(x, a, i);
  }
};
struct counted {
  int* calls;
  template <class T>
  void operator()(vec<T>& x, T const& a, step_index i) const {
    ++*calls;
    logistic{}(x, a, i);
  }
  template <class T>
  void operator()(vec<T>& x, T const& a, T const&, step_index i) const { (*this)(x, a, i); }
};
struct growing {
  template <class T>
  void operator()(vec<T>& x, T const& a, step_index) const { x.push_back(a * x.back()); }
};

}  // namespace

TEST_CASE("every kind of state is differentiated where it holds the scalar, and nowhere else", "[ad]") {
  constexpr step_index n = 7;
  auto const loss = [](mixed<double> x, double a) {
    for (step_index i = 0; i < n; ++i) mixed_model{}(x, a, i);
    return mixed_sum{}(x);
  };
  auto const found = cairn::differentiate(tape{}, mixed_model{}, mixed_start(), 1.1, cairn::revolve{n, 2}, mixed_sum{});
  CHECK(found.value == loss(mixed_start(), 1.1));
  CHECK(found.state.dx == 0.5);
  CHECK(found.state.grid == numbers{1, 2});
  double const h = 1e-6;
  auto const slope = [&](auto change) {
    auto more = mixed_start(), less = mixed_start();
    double a_more = 1.1, a_less = 1.1;
    change(more, a_more, h);
    change(less, a_less, -h);
    return (loss(more, a_more) - loss(less, a_less)) / (2 * h);
  };
  CHECK(std::abs(found.params - slope([](auto&, double& a, double d) { a += d; })) < 1e-7);
  CHECK(std::abs(found.state.u[0] - slope([](auto& x, double&, double d) { x.u[0] += d; })) < 1e-7);
  CHECK(std::abs(found.state.u[1] - slope([](auto& x, double&, double d) { x.u[1] += d; })) < 1e-7);
  CHECK(std::abs(found.state.pair[0] - slope([](auto& x, double&, double d) { x.pair[0] += d; })) < 1e-7);
  CHECK(std::abs(std::get<0>(found.state.counted) -
                 slope([](auto& x, double&, double d) { std::get<0>(x.counted) += d; })) < 1e-7);
  CHECK(std::abs(*found.state.in.extra - slope([](auto& x, double&, double d) { *x.in.extra += d; })) < 1e-7);
  CHECK(std::abs(found.state.in.rows[0] - slope([](auto& x, double&, double d) { x.in.rows[0] += d; })) < 1e-7);
  CHECK(std::abs(found.state.table[0][0] - slope([](auto& x, double&, double d) { x.table[0][0] += d; })) < 1e-7);
  for (step_index const leaf : {1, 2, 3, 7}) {
    auto const again =
        cairn::differentiate(tape{}, mixed_model{}, mixed_start(), 1.1, ad_test::in_leaves(n, leaf, 1), mixed_sum{});
    CHECK(ad_test::same_bits(again.state, found.state));
    CHECK(again.params == found.params);
  }
}

TEST_CASE("scalars are rebound only in class templates", "[ad]") {
  using to = codi::RealReverse;
  STATIC_REQUIRE(std::is_same_v<cairn::rebound_scalar<numbers, to>, vec<to>>);
  STATIC_REQUIRE(std::is_same_v<cairn::rebound_scalar<std::array<double, 3>, to>, std::array<to, 3>>);
  STATIC_REQUIRE(std::is_same_v<cairn::rebound_scalar<mixed<double>, to>, mixed<to>>);
  STATIC_REQUIRE(
      std::is_same_v<cairn::rebound_scalar<std::tuple<double, int, vec<double>>, to>, std::tuple<to, int, vec<to>>>);
  STATIC_REQUIRE(std::is_same_v<cairn::rebound_scalar<int, to>, int>);
  STATIC_REQUIRE(std::is_same_v<cairn::rebound_scalar<vec<float>, to>, vec<float>>);
  STATIC_REQUIRE(!cairn::differentiable_by<std::pair<int, float>, to>);
  STATIC_REQUIRE(cairn::ad_tape<tape>);
  STATIC_REQUIRE(!cairn::ad_tape<int>);
  STATIC_REQUIRE(!cairn::ad_tape<numbers>);
}

TEST_CASE("numbers are listed as they are visited", "[ad]") {
  auto const listed = []<class State>(State const& x) {
    numbers of{0.5};
    cairn::detail::scalars_of<State, codi::RealReverse>::list(x, of);
    return of;
  };
  CHECK(listed(numbers{1, 2, 3}) == numbers{0.5, 1, 2, 3});
  CHECK(listed(numbers{}) == numbers{0.5});
  CHECK(listed(std::array<double, 2>{1, 2}) == numbers{0.5, 1, 2});
  CHECK(listed(std::deque<double>{1, 2}) == numbers{0.5, 1, 2});
  CHECK(listed(framed<double>{numbers{1, 2, 3, 4, 5}}) == numbers{0.5, 2, 3, 4});
  CHECK(listed(std::tuple{1.0, 7, numbers{2}}) == numbers{0.5, 1, 2});
  CHECK(listed(2.0) == numbers{0.5, 2});
}

TEST_CASE("a visit of the user's own may copy its visitor", "[ad]") {
  framed<double> const x0{numbers{5, 1, 2, 3, 5}};
  auto const found = cairn::differentiate(tape{}, scaled{}, x0, 2.0, cairn::revolve{3, 1}, weighted_sum{});
  CHECK(found.value == 8 * 14);
  CHECK(found.params == 3 * 4 * 14);
  CHECK(numbers{found.state[1], found.state[2], found.state[3]} == numbers{8, 16, 24});
}

TEST_CASE("loops of no step, of one, and empty states have gradients", "[ad]") {
  auto const square = []<class T>(vec<T> const& x, T const& a) -> T { return a * x[0] * x[0]; };
  auto const none = cairn::differentiate(tape{}, logistic{}, numbers{3}, 2.0, 0, square);
  CHECK((none.value == 18 && none.state == numbers{12} && none.params == 9));
  auto const one = cairn::differentiate(tape{}, logistic{}, numbers{3}, 2.0, 1, square);
  CHECK((one.value == 2 * 144 && one.state == numbers{2 * 2 * -12.0 * (2 - 12.0)}));
  CHECK(one.params == 144 + 2 * 2 * -12.0 * -6.0);
  auto const empty = cairn::differentiate(tape{}, logistic{}, numbers{}, 2.0, 5, sum_of_all{});
  CHECK((empty.value == 0 && empty.state.empty() && empty.params == 0));
  auto const all = cairn::differentiate(tape{}, logistic{}, numbers{3}, 2.0, 0, cairn::at_states{{0, 0}, square});
  CHECK((all.value == 36 && all.state == numbers{24} && all.params == 18));
  auto const every = cairn::differentiate(tape{}, logistic{}, numbers{3}, 2.0, 0, cairn::at_every{1, square});
  CHECK((every.value == 0 && every.state == numbers{0} && every.params == 0));
}

TEST_CASE("an objective of some states is that of one long tape, for every plan", "[ad]") {
  constexpr step_index n = 24;
  auto const misfit = []<class T>(vec<T> const& x, T const& a, step_index i) -> T {
    return a * x[0] * double(i) + x[1] * x[1];
  };
  auto const end = []<class T>(vec<T> const& x, T const& a) -> T { return a * a * x[1]; };
  auto const terms = cairn::at_every{5, misfit} + cairn::at_states{{0, 7, 24, 7}, misfit} + cairn::at_end{end};
  numbers const x0{0.3, 0.6};
  // by hand: the whole loop on one tape
  tape whole;
  using real = codi::RealReverse;
  vec<real> x(2);
  real a;
  whole.begin(3);
  whole.independent(x[0], x0[0]);
  whole.independent(x[1], x0[1]);
  whole.independent(a, 3.1);
  whole.record();
  real sum = 0.0;
  for (step_index i = 0; i <= n; ++i) {
    if (i % 5 == 0 && i > 0) sum += misfit(x, a, i);
    for (step_index named : {0, 7, 24, 7})
      if (named == i) sum += misfit(x, a, i);
    if (i < n) logistic{}(x, a, i);
  }
  sum += end(x, a);
  whole.dependent(sum);
  whole.end();
  double const one = 1;
  double known[3];
  whole.reverse(&one, known);

  auto const found = cairn::differentiate(tape{}, logistic{}, x0, 3.1, n, terms);
  CHECK(ad_test::near_to(found.value, sum.value()));
  CHECK(ad_test::near_to(found.state[0], known[0], 1e-10));
  CHECK(ad_test::near_to(found.state[1], known[1], 1e-10));
  CHECK(ad_test::near_to(found.params, known[2], 1e-10));
  for (step_index const leaf : {1, 2, 5, 24})
    for (cairn::slot_index const slots : {1, 3, 24}) {
      auto const again = cairn::differentiate(tape{}, logistic{}, x0, 3.1, ad_test::in_leaves(n, leaf, slots), terms);
      CHECK(again.value == found.value);
      CHECK(again.state == found.state);
      CHECK(again.params == found.params);
    }
}

TEST_CASE("a loop of a tool that ends when its state says so has the bits of one whose length is known", "[ad]") {
  auto const square = []<class T>(vec<T> const& x, T const& a) -> T { return a * x[0] * x[0]; };
  auto const terms = cairn::at_every{2, square} + cairn::at_states{{0}, square} + cairn::at_end{square};
  numbers const x0{0.01};
  for (double const a : {1.5, 2.0, 3.7}) {
    long asked = 0;
    auto const small = [&](numbers const& x, double const& p) { return ++asked, x[0] < 0.15 * p; };
    step_index n = 0;
    for (numbers x = x0; x[0] < 0.15 * a; ++n) logistic{}(x, a, n);
    auto const known = cairn::differentiate(tape{}, logistic{}, x0, a, cairn::store_all(n), terms);
    auto const open = cairn::differentiate(tape{}, logistic{}, x0, a, cairn::run_while{small, cairn::online{3}}, terms);
    CHECK(asked == n + 1);
    CHECK((open.value == known.value && open.state == known.state && open.params == known.params));
    CHECK_THROWS_AS(cairn::differentiate(tape{}, logistic{}, x0, a, cairn::run_while{small, cairn::online{3}},
                                         cairn::at_states{{n + 1}, square}),
                    cairn::invalid_call);
  }
}

TEST_CASE("controls are differentiated step by step", "[ad]") {
  constexpr step_index n = 12;
  cairn::with_controls<double, double> p{0.9, {}};
  for (step_index i = 0; i < n; ++i) p.controls.push_back(0.01 * double(i + 1));
  auto const found =
      cairn::differentiate(tape{}, controlled_map{}, numbers{0.5}, p, cairn::revolve{n, 3}, sum_of_all{});
  double x = 0.5;
  numbers states;
  for (step_index i = 0; i < n; ++i) {
    states.push_back(x);
    x = 0.9 * x + p.controls[std::size_t(i)] * x * x;
  }
  CHECK(found.value == x);
  double bar = 1;
  for (step_index i = n; i-- > 0;) {
    double const at = states[std::size_t(i)];
    CHECK(ad_test::near_to(found.params.controls[std::size_t(i)], bar * at * at));
    bar *= 0.9 + 2 * p.controls[std::size_t(i)] * at;
  }
  CHECK(ad_test::near_to(found.state[0], bar));
  auto const longer =
      cairn::differentiate(tape{}, controlled_map{}, numbers{0.5}, p, ad_test::in_leaves(n, 5, 1), sum_of_all{});
  CHECK(longer.params.controls == found.params.controls);
  CHECK(longer.params.params == found.params.params);
}

TEST_CASE("taped goes with every kind of loop, store and observer", "[ad]") {
  constexpr step_index n = 20;
  numbers const x0{0.3, 0.6};
  cairn::taped loop{tape{}, logistic{}, 3.1};
  auto const known = cairn::gradient(loop.step, x0, cairn::store_all(n), loop.bar(numbers{1, 1}), loop.adjoint);

  auto run = cairn::checkpointed_loop(loop.step, x0, cairn::revolve{n, 3});
  for (int pass = 0; pass < 2; ++pass) {
    auto const again = run.reverse(loop.bar(numbers{1, 1}), loop.adjoint);
    CHECK((again.state == known.state && again.params == known.params));
  }
  auto open = cairn::checkpointed_while(
      loop.step, x0, [](auto const&, step_index i) { return i < n; }, cairn::online{4});
  auto const by_while = open.reverse(loop.bar(numbers{1, 1}), loop.adjoint);
  CHECK((by_while.state == known.state && by_while.params == known.params));

  std::size_t seen = 0;
  auto const watch = [&seen](cairn::event const&) { ++seen; };
  cairn::memory_store store;
  auto const observed = cairn::gradient(loop.step, x0, cairn::revolve{n, 3}, loop.bar(numbers{1, 1}), loop.adjoint,
                                        store, watch, cairn::sweep_options{.verify = cairn::replay_check::every_step});
  CHECK((seen > 0 && observed.state == known.state && observed.params == known.params));

  // without the parameters the bar is a state
  CHECK(cairn::gradient(loop.step, x0, cairn::revolve{n, 3}, numbers{1, 1}, loop.adjoint) == known.state);
  // one step at a time, in a loop in a loop
  cairn::nested two{cairn::revolve{5, 2}, loop.step, loop.step_adjoint};
  auto const in_loops = cairn::gradient(two.step, x0, 4, loop.bar(numbers{1, 1}), two.adjoint);
  CHECK((in_loops.state == known.state && in_loops.params == known.params));
  CHECK(cairn::check_adjoint(loop.step, loop.step_adjoint, x0, n).passed());
}

TEST_CASE("a kept run is reversed with the parameters that it began with only", "[ad]") {
  auto const check = [](auto const& plan) {
    cairn::taped loop{tape{}, logistic{}, 3.1, cairn::at_end{sum_of_all{}}};
    auto run = cairn::checkpointed_loop(loop.step, numbers{0.3, 0.6}, plan);
    auto const known = run.reverse(loop.seed(), loop.adjoint);
    auto const by_bar = run.reverse(loop.bar(numbers{1, 1}), loop.adjoint);
    auto& params = loop.params();
    CHECK(run.reverse(loop.seed(), loop.adjoint).params == known.params);
    CHECK(run.reverse(loop.bar(numbers{1, 1}), loop.adjoint).params == by_bar.params);
    params = 3.2;
    for (double const p : {3.2, 3.1}) {  // states may have been made with the other
      params = p;
      CHECK_THROWS_AS(run.reverse(loop.seed(), loop.adjoint), cairn::invalid_call);
      CHECK_THROWS_AS(run.reverse(loop.bar(numbers{1, 1}), loop.adjoint), cairn::invalid_call);
    }
    auto other = cairn::checkpointed_loop(loop.step, numbers{0.3, 0.6}, plan);
    loop.params() = 3.2;
    if (plan.slots() == 3) CHECK_THROWS_AS(other.at(7), cairn::invalid_call);
    loop.params() = 3.2;  // another loop begins with this
    CHECK(cairn::differentiate(loop, numbers{0.3, 0.6}, plan).params != known.params);
  };
  check(cairn::store_all(20));
  check(cairn::revolve{20, 3});
  check(cairn::leaves(20, 5, cairn::revolve{4, 2}));
}

TEST_CASE("a step that chooses its size is recorded, and the tape repeats what was chosen", "[ad]") {
  numbers const* sizes = nullptr;
  cairn::taped loop{tape{}, decay{&sizes}, 0.7};
  cairn::adaptive steps{[](numbers const& x, step_index) { return 0.1 / (1 + x[0]); },
                        [&loop](numbers& x, step_index i, double) { loop.step(x, i); }};
  sizes = &steps.records();
  auto run = cairn::checkpointed_while(
      steps.step(), numbers{2.0}, [](auto const& x) { return x[0] > 1.5; }, cairn::online{3});
  auto const n = run.steps();
  REQUIRE(n > 3);
  auto const bar = run.reverse(loop.bar(numbers{1}), loop.adjoint);
  double x = 2, dx = 1;
  for (step_index i = 0; i < n; ++i) {
    dx *= 1 - 2 * (*sizes)[std::size_t(i)] * 0.7 * x;
    x -= (*sizes)[std::size_t(i)] * 0.7 * x * x;
  }
  CHECK(ad_test::near_to(bar.state[0], dx));
}

TEST_CASE("a model that throws leaves tape and loop ready for the next call", "[ad]") {
  int left = -1;
  auto const run = [&](auto& tool, int calls) {
    left = calls;
    return cairn::differentiate(tool, failing{&left}, numbers{0.3}, 3.0, cairn::revolve{9, 2}, sum_of_all{});
  };
  tape codi;
  cairn::xad_tape xad;
  auto const known = run(codi, -1);
  int const all = -1 - left;  // -1 counts down with every call
  REQUIRE(all > 18);          // forward, and again on the tape
  for (int calls = 0; calls < all; ++calls) {
    CHECK_THROWS_AS((void)run(codi, calls), std::runtime_error);
    CHECK_THROWS_AS((void)run(xad, calls), std::runtime_error);
    CHECK(codi::RealReverse::getTape().isActive() == false);
    CHECK(xad::Tape::getActive() == nullptr);
  }
  CHECK(run(codi, -1).state == known.state);
  CHECK(run(xad, -1).params == known.params);
}

TEST_CASE("what cannot be is refused before any step runs", "[ad]") {
  int calls = 0;
  CHECK_THROWS_AS(
      (void)cairn::differentiate(tape{}, counted{&calls}, numbers{1}, 1.0, 5, cairn::at_states{{6}, sum_of_all{}}),
      cairn::invalid_call);
  CHECK_THROWS_AS((cairn::at_every{0, sum_of_all{}}), cairn::invalid_call);
  CHECK_THROWS_AS((cairn::at_states{{-1}, sum_of_all{}}), cairn::invalid_call);
  for (std::size_t const controls : {0u, 4u, 6u}) {
    cairn::with_controls<double, double> const p{1.0, numbers(controls)};
    CHECK_THROWS_AS((void)cairn::differentiate(tape{}, counted{&calls}, numbers{1}, p, 5, sum_of_all{}),
                    cairn::invalid_call);
  }
  CHECK_THROWS_AS((void)cairn::differentiate(tape{}, counted{&calls}, numbers{1}, 1.0, -1, sum_of_all{}),
                  cairn::invalid_plan);
  CHECK_THROWS_AS(
      (void)cairn::differentiate(tape{}, counted{&calls}, numbers{1}, 1.0, cairn::budget_of{-1, "1MB"}, sum_of_all{}),
      cairn::invalid_plan);
  CHECK(calls == 0);
  cairn::taped loop{tape{}, logistic{}, 3.0};
  CHECK_THROWS_AS((void)cairn::gradient(loop.step, numbers{0.5}, 3, loop.bar(numbers{1, 1}), loop.adjoint),
                  cairn::invalid_call);
}

TEST_CASE("taped takes the function that differentiate takes", "[ad]") {
  auto const sum = []<class T>(vec<T> const& x) -> T { return x[0] + x[1]; };
  numbers const x0{0.3, 0.6};
  auto const known = cairn::differentiate(tape{}, logistic{}, x0, 3.1, 10, sum);
  cairn::taped loop{tape{}, logistic{}, 3.1, sum};
  using end = cairn::at_end<std::remove_const_t<decltype(sum)>>;
  STATIC_REQUIRE(std::is_same_v<decltype(loop), cairn::taped<tape, logistic, double, end>>);
  auto const found = cairn::differentiate(loop, x0, 10);
  CHECK((found.value == known.value && found.state == known.state && found.params == known.params));
  tape tool;
  cairn::taped over_lvalue{tool, logistic{}, 3.1, sum};
  CHECK(cairn::differentiate(over_lvalue, x0, 10).state == known.state);
}

TEST_CASE("a gradient that does not fit the parameters is refused", "[ad]") {
  cairn::with_controls<double, double> const p{0.9, numbers(6, 0.1)};
  cairn::taped loop{tape{}, controlled_map{}, p};
  auto short_bar = loop.bar(numbers{1});
  short_bar.params.controls.resize(4);
  CHECK_THROWS_AS((void)cairn::gradient(loop.step, numbers{0.5}, 6, short_bar, loop.adjoint), cairn::invalid_call);
  auto const scaled = []<class T>(vec<T>& x, vec<T> const& a) {
    for (auto& v : x) v = v * a[0] * a[1];
  };
  cairn::taped over_vector{tape{}, scaled, numbers{0.5, 0.7}};
  auto bar = over_vector.bar(numbers{1});
  bar.params.pop_back();
  CHECK_THROWS_AS((void)cairn::gradient(over_vector.step, numbers{0.5}, 6, bar, over_vector.adjoint),
                  cairn::invalid_call);
}

TEST_CASE("states that grow carry adjoints of their own size back", "[ad]") {
  auto const found = cairn::differentiate(tape{}, growing{}, numbers{2}, 3.0, 3, sum_of_all{});
  CHECK(found.value == 2 + 6 + 18 + 54);
  CHECK(found.state == numbers{1 + 3 + 9 + 27});
  CHECK(found.params == 2 + 12 + 54);
}

TEST_CASE("a budget counts the tape, and leaf and slots are chosen within it", "[ad]") {
  numbers const x0(200, 0.4);
  cairn::taped loop{cairn::xad_tape{}, logistic{}, 3.0, cairn::at_end{sum_of_all{}}};
  auto const work = cairn::workload_of(loop, x0, 512);
  CHECK(work.tape_step_bytes > 200 * sizeof(stand_in::statement));
  auto const known = cairn::differentiate(loop, x0, 512);
  for (cairn::byte_size const budget : {"256kB", "1MB", "20MB"}) {
    auto const chosen = cairn::plan_for(loop, x0, {512, budget});
    CHECK(chosen.cost.memory_bytes <= budget.count());
    CHECK(chosen.memory.tapes >= work.tape_bytes);
    auto const again = cairn::differentiate(loop, x0, cairn::budget_of{512, budget});
    CHECK(again.value == known.value);
    CHECK(again.state == known.state);
    CHECK(again.params == known.params);
    cairn::sweep_report report;
    auto const looked = cairn::differentiate(loop, x0, cairn::measured{cairn::budget_of{512, budget}}, report);
    CHECK(looked.state == known.state);
    CHECK(report.predicted_bytes <= budget.count());
    CHECK(report.counted.tapes > 0);
    CHECK(report.counted.tapes <= report.predicted.tapes);
  }
  cairn::sweep_report report;
  (void)cairn::gradient(loop.step, x0, cairn::budget_of{512, "256kB"}, numbers(200, 1.0), loop.adjoint, report);
  CHECK(report.predicted.tapes > 200 * sizeof(stand_in::statement));
  CHECK(report.predicted_bytes <= 256'000);
  CHECK_THROWS_AS((void)cairn::differentiate(loop, x0, cairn::budget_of{512, "10kB"}), cairn::infeasible_budget);
}
