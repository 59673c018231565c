// SPDX-License-Identifier: Apache-2.0
#pragma once
// Two tapes of one tool in a program: taken in turns, one in the other, moved, in threads. Each has its own gradient,
// or there is an error.
#include "adapt/ad/cases.hpp"
#include "adapt/ad/conformance.hpp"
#include "adapt/ad/replay.hpp"
#include "support/catch.hpp"
#include <cstddef>
#include <optional>
#include <thread>
#include <utility>
#include <vector>
#include <cairn/adapt/ad.hpp>
#include <cairn/cairn.hpp>

namespace ad_test {

/// Another model of the same sizes as `always`.
struct kick {
  template <class T>
  void operator()(vec<T>& x, T const& a) const {
    for (auto& v : x) v = v - a * v * v * v;
  }
};

/// The adjoint, or nothing if the tape says that it has no recording.
template <class Tape>
std::optional<numbers> reversed_or_refused(Tape& tape, std::size_t inputs, numbers const& seeds) {
  try {
    return reversed(tape, inputs, seeds);
  } catch (cairn::invalid_call const&) {
    return {};
  }
}

template <class Tape>
void tapes_in_turns() {
  auto const product = [](auto& x, auto& y) { y[0] = x[0] * x[1]; };
  auto const cube = [](auto& x, auto& y) { y[0] = x[0] * x[0] * x[0] + x[1]; };
  Tape first, second;
  record_at(first, {3, 5}, 1, product);
  record_at(second, {2, 7}, 1, cube);
  CHECK(reversed_or_refused(first, 2, {1}).value_or(numbers{5, 3}) == numbers{5, 3});
  CHECK(reversed(second, 2, {1}) == numbers{12, 1});

  // one that is destroyed or cleared does not touch the other's recording
  {
    Tape third;
    record_at(third, {3, 5}, 1, product);
  }
  CHECK(reversed_or_refused(second, 2, {1}).value_or(numbers{12, 1}) == numbers{12, 1});
  record_at(second, {2, 7}, 1, cube);
  first.clear();
  CHECK(reversed(second, 2, {1}) == numbers{12, 1});

  // a tape that was moved from is another tape
  Tape moved{std::move(second)};
  record_at(second, {3, 5}, 1, product);
  CHECK(reversed(second, 2, {1}) == numbers{5, 3});
  CHECK(reversed_or_refused(moved, 2, {1}).value_or(numbers{12, 1}) == numbers{12, 1});
  record_at(moved, {2, 7}, 1, cube);
  CHECK(reversed(moved, 2, {1}) == numbers{12, 1});
  CHECK(reversed_or_refused(second, 2, {1}).value_or(numbers{5, 3}) == numbers{5, 3});
}

/// A recording inside another is refused, and the outer one goes on.
template <class Tape>
void tape_in_a_tape() {
  using scalar = typename Tape::scalar;
  Tape outer, inner;
  scalar x, y;
  outer.begin(1);
  outer.independent(x, 3);
  outer.record();
  y = x * x;
  CHECK_THROWS_AS(inner.begin(1), cairn::invalid_call);
  inner.abandon();
  inner.clear();
  { Tape unused; }
  y = y * x;
  outer.dependent(y);
  outer.end();
  CHECK(reversed(outer, 1, {1}) == numbers{27});
  record_at(inner, {2, 7}, 1, [](auto& u, auto& v) { v[0] = u[0] * u[1]; });
  CHECK(reversed(inner, 2, {1}) == numbers{7, 2});
  {  // one that is destroyed before it has ended
    Tape left;
    left.begin(1);
    left.independent(x, 3);
    left.record();
  }
  record_at(inner, {2, 7}, 1, [](auto& u, auto& v) { v[0] = u[0] * u[1]; });
  CHECK(reversed(inner, 2, {1}) == numbers{7, 2});
}

template <class Tape, class Model>
auto leaves_of(cairn::taped<Tape, Model, double>& loop, cairn::step_index first) {
  auto bar = loop.bar(vec<double>{1, 0.5});
  loop.adjoint(vec<double>{0.7, 0.2 + 0.01 * double(first)}, bar, first, first + 3);
  return std::pair{bar.state, bar.params};
}

/// The leaves of two loops, reversed in turns, are those of each loop alone: also where recordings are replayed.
template <class Tape>
void loops_in_turns() {
  using found = std::vector<std::pair<vec<double>, double>>;
  auto const run = [](auto& a, auto& b, bool by_a, bool by_b) {
    found all;
    a.begin();
    b.begin();
    for (cairn::step_index first = 0; first < 30; first += 3) {
      if (by_a) all.push_back(leaves_of(a, first));
      if (by_b) all.push_back(leaves_of(b, first));
    }
    return all;
  };
  cairn::taped<Tape, always, double> a{Tape{}, always{}, 0.05};
  cairn::taped<Tape, kick, double> b{Tape{}, kick{}, 0.3};
  auto const of_a = run(a, b, true, false), of_b = run(a, b, false, true);
  auto const both = run(a, b, true, true);
  REQUIRE(both.size() == 20);
  for (std::size_t k = 0; k < 10; ++k) {
    CHECK(both[2 * k] == of_a[k]);
    CHECK(both[2 * k + 1] == of_b[k]);
  }

  // the whole gradient of one loop in the other's adjoint
  vec<double> const x0{0.7, 0.2};
  auto const other = cairn::gradient(b.step, x0, cairn::revolve{20, 3}, b.bar(vec<double>{1, 0}), b.adjoint);
  auto const alone = cairn::gradient(a.step, x0, cairn::revolve{20, 3}, a.bar(vec<double>{1, 0}), a.adjoint);
  int wrong = 0;
  auto const adjoint = [&](vec<double> const& x, auto& bar, cairn::step_index i) {
    auto const inside = cairn::gradient(b.step, x0, cairn::revolve{20, 3}, b.bar(vec<double>{1, 0}), b.adjoint);
    wrong += inside.state != other.state || inside.params != other.params;
    a.step_adjoint(x, bar, i);
  };
  auto const around = cairn::gradient(a.step, x0, cairn::revolve{20, 3}, a.bar(vec<double>{1, 0}), adjoint);
  CHECK(wrong == 0);
  CHECK((around.state == alone.state && around.params == alone.params));
}

/// Threads with a tool each have the gradients of one thread.
template <class Tape>
void loops_in_threads() {
  constexpr std::size_t threads = 4;
  auto const loop = [](std::size_t k) {
    std::vector<std::pair<vec<double>, double>> all;
    for (int pass = 0; pass < 5; ++pass) {
      auto const run = [&](auto model) {
        auto const last = []<class T>(vec<T> const& x) -> T { return x[0] * x[1]; };
        auto const answer = cairn::differentiate(Tape{}, model, vec<double>{0.7, 0.1 * double(k + 1)}, 0.01,
                                                 in_leaves(60, 4, 3), last);
        all.emplace_back(answer.state, answer.params);
      };
      if ((k + std::size_t(pass)) % 2 == 0) run(by_data{});
      else run(branching{});
    }
    return all;
  };
  std::vector<std::vector<std::pair<vec<double>, double>>> known, found(threads);
  for (std::size_t k = 0; k < threads; ++k) known.push_back(loop(k));
  std::vector<std::thread> all;
  for (std::size_t k = 0; k < threads; ++k) all.emplace_back([&, k] { found[k] = loop(k); });
  for (auto& each : all) each.join();
  CHECK(found == known);
}

}  // namespace ad_test
