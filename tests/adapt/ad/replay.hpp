// SPDX-License-Identifier: Apache-2.0
#pragma once
// What a recording that is run again for other leaves has to keep, whatever tool replays it.
#include "adapt/ad/cases.hpp"
#include "adapt/ad/conformance.hpp"
#include "support/catch.hpp"
#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <random>
#include <type_traits>
#include <vector>
#include <cairn/adapt/ad.hpp>
#include <cairn/adapt/ad/tape.hpp>
#include <cairn/cairn.hpp>

namespace ad_test {

template <class T>
using vec = std::vector<T>;

/// One step by its index; by the one number that it makes of it; by the index as a number.
struct by_index {
  template <class T>
  void operator()(vec<T>& x, T const& a, cairn::step_index i) const {
    for (auto& v : x) v = v + a * std::cos(0.1 * double(i)) * v * v;
  }
};
struct by_data {
  double at(cairn::step_index i) const { return std::cos(0.1 * double(i)); }
  template <class T>
  void operator()(vec<T>& x, T const& a, T const& wave) const {
    for (auto& v : x) v = v + a * wave * v * v;
  }
};
struct by_number {
  template <class T>
  void operator()(vec<T>& x, T const& a, T const& i) const {
    using std::cos;
    T const wave = cos(0.1 * i);
    for (auto& v : x) v = v + a * wave * v * v;
  }
};
/// Steps that are all the same, without and with an index.
struct always {
  template <class T>
  void operator()(vec<T>& x, T const& a) const {
    for (auto& v : x) v = v + a * v * v;
  }
};
struct always_by_index {
  template <class T>
  void operator()(vec<T>& x, T const& a, cairn::step_index) const {
    always{}(x, a);
  }
};
/// A step that turns around at 1.
struct branching {
  double at(cairn::step_index i) const { return 0.1 * double(i % 5 + 1); }
  template <class T>
  void operator()(vec<T>& x, T const& a, T const& size) const {
    if (x[0] > 1.0) x[0] = x[0] - a * size * x[0] * x[0];
    else x[0] = x[0] + a * size;
  }
};
/// A step that turns around by its number, and not by its state.
struct branching_by_data {
  double at(cairn::step_index i) const { return double(i % 7) - 3.0; }
  template <class T>
  void operator()(vec<T>& x, T const& a, T const& size) const {
    if (size >= 2.0) x[0] = x[0] - a * x[0] * x[0];
    else if (size == 0.0) x[0] = x[0] * (1.0 + a * a);
    else x[0] = x[0] + 0.01 * a * size;
  }
};
struct branching_by_index {
  template <class T>
  void operator()(vec<T>& x, T const& a, cairn::step_index i) const {
    double const size = branching_by_data{}.at(i);
    if (size >= 2.0) x[0] = x[0] - a * x[0] * x[0];
    else if (size == 0.0) x[0] = x[0] * (1.0 + a * a);
    else x[0] = x[0] + 0.01 * a * size;
  }
};
/// A step that reads what it was not given.
struct hiding {
  double const* factor;
  template <class T>
  void operator()(vec<T>& x, T const& a) const {
    for (auto& v : x) v = v + a * *factor * v * v;
  }
};

/// The independent variables come first in a replay, what varies after them, in any order in which they were named.
template <class Tape>
void replays() {
  using scalar = typename Tape::scalar;
  Tape tape;
  scalar x, y, c, d;
  tape.begin(2);
  tape.varies(c, 3);
  tape.independent(x, 2);
  tape.varies(d, 10);
  tape.independent(y, 5);
  tape.record();
  scalar const first = c * x * x, second = d * x * y;
  tape.dependent(first);
  tape.dependent(second);
  tape.end();
  CHECK(reversed(tape, 2, {1, 0}) == numbers{12, 0});
  CHECK(reversed(tape, 2, {0, 1}) == numbers{50, 20});
  auto const at = [&tape](numbers const& values) { return tape.replay(values.data()); };
  REQUIRE(at({4, 7, 2, 100}));  // x, y, c, d
  CHECK(reversed(tape, 2, {1, 0}) == numbers{16, 0});
  CHECK(reversed(tape, 2, {1, 1}) == numbers{716, 400});
  REQUIRE(at({2, 5, 3, 10}));
  CHECK(reversed(tape, 2, {0, 1}) == numbers{50, 20});
  CHECK(tape.recordings() == 1u);

  tape.clear();
  CHECK_FALSE(at({4, 7, 2, 100}));
  record_at(tape, {3, 5}, 2, [](auto& u, auto& v) {  // nothing varies
    v[0] = u[0] * u[1];
    if (u[0] > 1.0) v[0] = v[0] * 2.0;
    v[1] = u[1];
  });
  CHECK(tape.recordings() == 2u);
  REQUIRE(at({2, 7}));
  CHECK(reversed(tape, 2, {1, 0}) == numbers{14, 4});
  CHECK_FALSE(at({0.5, 7}));
  record_at(tape, {3, 5}, 0, [](auto&, auto&) {});
  CHECK_FALSE(at({3, 5}));
}

/// The recordings of the 1st, 2nd, 4th, 8th ... of so many replays.
inline std::uint64_t checks_of(std::uint64_t replays) { return std::uint64_t(std::bit_width(replays)); }

template <class Tape, class Replayed, class Recorded>
void same_gradients(Replayed const& replayed, Recorded const& recorded) {
  vec<double> const x0{0.7, 0.2};
  auto const product = []<class T>(vec<T> const& x) -> T { return x[0] * x[1]; };
  for (cairn::step_index const leaf : {1, 5, 30}) {
    cairn::taped by_tape{Tape{}, recorded, 0.01, cairn::at_end{product}};
    cairn::taped by_replay{Tape{}, replayed, 0.01, cairn::at_end{product}};
    auto const plan = in_leaves(100, leaf, 3);
    auto const known = cairn::differentiate(by_tape, x0, plan);
    auto const found = cairn::differentiate(by_replay, x0, plan);
    // recordings: the seed's, the leaves', and that of the last leaf, which is shorter
    auto const lengths = 1u + (leaf == 30 ? 1u : 0u);
    auto const leaves = std::uint64_t((100 + leaf - 1) / leaf);
    CHECK(by_replay.tool().recordings() == 1u + lengths + checks_of(leaves - lengths));
    CHECK(found.value == known.value);
    CHECK(near_to(found.params, known.params, 1e-13));
    CHECK(near_to(found.state[0], known.state[0], 1e-13));
    CHECK(near_to(found.state[1], known.state[1], 1e-13));
  }
}
template <class Tape>
void one_recording() {
  same_gradients<Tape>(by_data{}, by_index{});
  same_gradients<Tape>(by_number{}, by_index{});
  same_gradients<Tape>(always{}, always_by_index{});
  // terms are recorded where they are
  vec<double> const x0{0.7, 0.2};
  auto const terms =
      cairn::at_every{7, []<class T>(vec<T> const& x, T const&, cairn::step_index i) -> T { return double(i) * x[0]; }};
  auto const known = cairn::differentiate(Tape{}, by_index{}, x0, 0.01, cairn::revolve{100, 3}, terms);
  auto const found = cairn::differentiate(Tape{}, by_data{}, x0, 0.01, cairn::revolve{100, 3}, terms);
  CHECK(near_to(found.value, known.value));
  CHECK(near_to(found.params, known.params));
  CHECK(near_to(found.state[0], known.state[0]));
}

/// A term that does not take its number is recorded as the steps are; leaves with terms at other places have recordings
/// of their own.
template <class Tape>
void replayed_terms() {
  vec<double> const x0{0.7, 0.2};
  auto const square = []<class T>(vec<T> const& x) -> T { return x[0] * x[0]; };
  auto const other = []<class T>(vec<T> const& x, T const& a) -> T { return a * x[1]; };
  auto const told = []<class T>(vec<T> const& x, T const&, cairn::step_index i) -> T { return double(i) * x[0]; };
  auto const check = [&](auto const& terms, cairn::step_index leaf, std::uint64_t recordings) {
    cairn::taped by_tape{Tape{}, by_index{}, 0.01, terms};
    cairn::taped by_replay{Tape{}, by_data{}, 0.01, terms};
    auto const plan = in_leaves(120, leaf, 3);
    auto const known = cairn::differentiate(by_tape, x0, plan), found = cairn::differentiate(by_replay, x0, plan);
    CHECK(by_replay.tool().recordings() == recordings);
    CHECK(near_to(found.value, known.value, 1e-13));
    CHECK(near_to(found.params, known.params, 1e-13));
    for (std::size_t k = 0; k < 2; ++k) CHECK(near_to(found.state[k], known.state[k], 1e-13));
  };
  // the seed's recording, that of the first leaf to be reversed, and the checks of the others
  check(cairn::at_every{1, square}, 1, 2 + checks_of(119));
  check(cairn::at_every{1, square} + cairn::at_every{2, other}, 4, 2 + checks_of(29));
  check(cairn::at_every{10, other} + cairn::at_end{square}, 10, 2 + checks_of(11));
  check(cairn::at_states{{0, 120}, other}, 10, 4 + checks_of(10));  // the first and the last leaf are unlike the others
  check(cairn::at_states{{0, 120, 120}, other}, 10, 4 + checks_of(10));
  check(cairn::at_states{{7, 17, 18}, other} + cairn::at_states{{3}, square}, 10, 4 + checks_of(9));
  check(cairn::at_every{1, told}, 1, 1 + 120);  // each by itself
}

template <class Tape>
void comparisons() {
  auto const last = []<class T>(vec<T> const& x) -> T { return x[0]; };
  auto const found = cairn::differentiate(Tape{}, branching{}, vec<double>{0.2}, 0.9, cairn::revolve{60, 4}, last);
  double x = 0.2, by_x = 1, by_a = 0;
  for (cairn::step_index i = 0; i < 60; ++i) {
    double const size = branching{}.at(i);
    if (x > 1) {
      by_a = by_a * (1 - 2 * 0.9 * size * x) - size * x * x;
      by_x *= 1 - 2 * 0.9 * size * x;
      x = x - 0.9 * size * x * x;
    } else {
      by_a += size;
      x = x + 0.9 * size;
    }
  }
  CHECK(near_to(found.value, x));
  CHECK(near_to(found.params, by_a, 1e-11));
  CHECK(std::abs(found.state[0] - by_x) < 1e-12);

  for (cairn::step_index const leaf : {1, 7, 10}) {
    auto const plan = in_leaves(140, leaf, 4);
    auto const by_numbers = cairn::differentiate(Tape{}, branching_by_data{}, vec<double>{0.6}, 0.05, plan, last);
    auto const recorded = cairn::differentiate(Tape{}, branching_by_index{}, vec<double>{0.6}, 0.05, plan, last);
    CHECK(by_numbers.value == recorded.value);
    CHECK(near_to(by_numbers.params, recorded.params, 1e-13));
    CHECK(near_to(by_numbers.state[0], recorded.state[0], 1e-13));
  }
}

/// A step with as many numbers of its own as it likes; the first of them counts differently.
struct by_table {
  std::vector<vec<double>> const* table;
  vec<double> const& at(cairn::step_index i) const { return (*table)[std::size_t(i)]; }
  template <class T>
  void operator()(vec<T>& x, T const& a, vec<T> const& row) const {
    for (std::size_t k = 0; k < row.size(); ++k) x[0] = x[0] + (k == 0 ? 1.0 : 0.1) * a * row[k] * x[0];
  }
};
/// The same by controls; and a state whose parts change their sizes, the sum of which stays.
struct by_controls {
  template <class T>
  void operator()(vec<T>& x, T const& a, vec<T> const& row) const {
    for (std::size_t k = 0; k < row.size(); ++k) x[0] = x[0] + (k == 0 ? 1.0 : 0.1) * a * row[k] * x[0];
  }
};
template <class T>
struct two_parts {
  vec<T> first, second;
};
struct passing_on {
  template <class T>
  void operator()(two_parts<T>& x, T const& a) const {
    for (auto& v : x.first) v = v * (1.0 + a);
    for (auto& v : x.second) v = v * (1.0 - a * v);
    x.second.push_back(x.first.back());
    x.first.pop_back();
  }
};

/// A recording holds for leaves of the same layout only: rows of 1, 2, 2, 1 numbers in leaves of 2 steps have equal
/// sums.
template <class Tape>
void layouts() {
  std::vector<vec<double>> const table{{0.1}, {0.2, 0.3}, {0.4, 0.5}, {0.6}, {0.7}, {0.8, 0.9}};
  auto const last = []<class T>(vec<T> const& x) -> T { return x[0]; };
  vec<double> const x0{1.3};
  double x = x0[0], bar = 1, by_a = 0;
  std::vector<double> states;
  auto const factor = [&](std::size_t i, std::size_t k) { return (k == 0 ? 1.0 : 0.1) * table[i][k]; };
  for (std::size_t i = 0; i < table.size(); ++i)
    for (std::size_t k = 0; k < table[i].size(); ++k) {
      states.push_back(x);
      x += 0.7 * factor(i, k) * x;
    }
  std::vector<vec<double>> by_rows = table;
  for (std::size_t i = table.size(), s = states.size(); i-- > 0;)
    for (std::size_t k = table[i].size(); k-- > 0;) {
      double const at = states[--s];
      by_a += bar * factor(i, k) * at;
      by_rows[i][k] = bar * 0.7 * (k == 0 ? 1.0 : 0.1) * at;
      bar *= 1 + 0.7 * factor(i, k);
    }
  for (cairn::step_index const leaf : {1, 2, 3, 6}) {
    auto const found = cairn::differentiate(Tape{}, by_table{&table}, x0, 0.7, in_leaves(6, leaf, 2), last);
    CHECK(near_to(found.params, by_a));
    CHECK(near_to(found.state[0], bar));
    cairn::with_controls<double, vec<double>> const controlled{0.7, table};
    auto const by_u = cairn::differentiate(Tape{}, by_controls{}, x0, controlled, in_leaves(6, leaf, 2), last);
    CHECK(near_to(by_u.params.params, by_a));
    CHECK(near_to(by_u.state[0], bar));
    for (std::size_t i = 0; i < table.size(); ++i)
      for (std::size_t k = 0; k < table[i].size(); ++k) CHECK(near_to(by_u.params.controls[i][k], by_rows[i][k]));
  }

  // a seed of the initial sizes, and states whose parts change theirs
  two_parts<double> const start{{0.5, 0.6, 0.7, 0.8}, {0.9}}, end{{1}, {2, 3, 4, 5}};
  double const a = 0.1;
  auto const by_hand = [&](two_parts<double> s) {
    for (int i = 0; i < 3; ++i) passing_on{}(s, a);
    double sum = s.first[0];
    for (std::size_t k = 0; k < s.second.size(); ++k) sum += double(k + 2) * s.second[k];
    return sum;
  };
  for (cairn::step_index const leaf : {1, 2, 3}) {
    cairn::taped loop{Tape{}, passing_on{}, a};
    auto const found = cairn::gradient(loop.step, start, in_leaves(3, leaf, 2), loop.bar(end), loop.adjoint);
    REQUIRE(found.state.first.size() == 4);
    REQUIRE(found.state.second.size() == 1);
    auto const slope = [&](auto change) {
      auto more = start, less = start;
      change(more, 1e-6);
      change(less, -1e-6);
      return (by_hand(more) - by_hand(less)) / 2e-6;
    };
    for (std::size_t k = 0; k < 4; ++k)
      CHECK(std::abs(found.state.first[k] - slope([k](auto& s, double d) { s.first[k] += d; })) < 1e-7);
    CHECK(std::abs(found.state.second[0] - slope([](auto& s, double d) { s.second[0] += d; })) < 1e-7);
    CHECK_THROWS_AS((void)cairn::gradient(loop.step, start, in_leaves(3, leaf, 2), loop.bar(start), loop.adjoint),
                    cairn::invalid_call);
  }
}

/// A model that reads what it was not given has no recording that holds for two leaves, and is refused.
template <class Tape>
void hidden_number() {
  double factor = 1;
  cairn::taped loop{Tape{}, hiding{&factor}, 0.01};
  loop.begin();
  auto bar = loop.bar(vec<double>{1, 0});
  auto const back = [&](cairn::step_index i) {
    factor = double(i);
    loop.step_adjoint(vec<double>{0.7, 0.2}, bar, i);
  };
  back(3);
  CHECK_THROWS_AS(back(2), cairn::invalid_call);
}

/// What a model may choose by plain values: the tool does not see that. Forces move the state for a while, and then it
/// comes to rest; `kind` says what is chosen.
struct choosing {
  int kind = 0;
  cairn::step_index from = 0, to = 0;  // of the transient
  double size = 0.4;
  double at(cairn::step_index i) const { return i >= from && i < to ? size * std::cos(0.9 * double(i)) : 0; }
  template <class T>
  static double plain(T const& v) {
    if constexpr (std::is_same_v<T, double>) return v;
    else return cairn::detail::plain_value(v);
  }
  /// A table's value between the nodes around v.
  template <class T>
  static T looked_up(T const& v) {
    double const node = std::floor(plain(v) / 0.25);
    return T(0.1 * node * node) + (v - 0.25 * node) / 0.25 * (0.1 * (2 * node + 1));
  }
  template <class T>
  void operator()(vec<T>& x, T const& a, T const& force) const {
    std::size_t const n = x.size();
    vec<T> const before = x;
    if (kind == 0)  // the cell of a table
      for (auto& v : x) v = v - 0.1 * a * looked_up(v) * v + force;
    else if (kind == 1)  // a limiter
      for (std::size_t k = 0; k < n; ++k) {
        T const left = before[k] - before[(k + n - 1) % n], right = before[(k + 1) % n] - before[k];
        double const l = plain(left), r = plain(right);
        T const slope = l * r <= 0 ? T(0.0) : std::abs(l) < std::abs(r) ? left : right;
        x[k] = before[k] - 0.2 * a * slope - 0.05 * a * before[k] * before[k] + force * double(k + 1);
      }
    else if (kind == 2) {  // the order
      vec<std::size_t> rank(n);
      for (std::size_t k = 0; k < n; ++k) rank[k] = k;
      std::sort(rank.begin(), rank.end(), [&](auto p, auto q) { return plain(before[p]) < plain(before[q]); });
      for (std::size_t k = 0; k < n; ++k)
        x[rank[k]] = before[rank[k]] * (1.0 - 0.02 * a * double(k + 1) * before[rank[k]]) + force * double(k % 2 + 1);
    } else  // the nearest neighbour
      for (std::size_t k = 0; k < n; ++k) {
        std::size_t nearest = (k + 1) % n;
        for (std::size_t j = 0; j < n; ++j)
          if (j != k && std::abs(plain(before[j]) - plain(before[k])) <
                            std::abs(plain(before[nearest]) - plain(before[k])))
            nearest = j;
        x[k] = before[k] + 0.05 * a * (before[nearest] - before[k]) * before[k] + force * double(k + 1);
      }
  }
};
/// The same, recorded for each leaf.
struct choosing_by_index {
  choosing inner;
  template <class T>
  void operator()(vec<T>& x, T const& a, cairn::step_index i) const {
    inner(x, a, T(inner.at(i)));
  }
};
/// Compares replays with recordings of each leaf; returns how many leaves were not recorded.
template <class Tape, class Terms>
std::int64_t same_choices(choosing const& model, cairn::step_index n, cairn::step_index leaf, Terms const& terms) {
  CAPTURE(model.kind, model.from, model.to, model.size, n, leaf);
  vec<double> const x0{0.9, 0.35, 0.6, 0.1};
  cairn::taped by_tape{Tape{}, choosing_by_index{model}, 0.7, terms};
  cairn::taped by_replay{Tape{}, model, 0.7, terms};
  auto const plan = in_leaves(n, leaf, 3);
  auto const known = cairn::differentiate(by_tape, x0, plan), found = cairn::differentiate(by_replay, x0, plan);
  double const size = std::abs(known.value) + std::abs(known.params);
  if (!(size < 1e100)) return 0;  // a random model that has blown up
  CHECK(found.value == known.value);
  CHECK(near_to(found.params, known.params, 1e-12));
  for (std::size_t k = 0; k < x0.size(); ++k) CHECK(near_to(found.state[k], known.state[k], 1e-12));
  return std::int64_t(by_tape.tool().recordings()) - std::int64_t(by_replay.tool().recordings());
}
template <class Tape>
void choices() {
  auto const square = []<class T>(vec<T> const& x) -> T { return x[0] * x[0] + x[2]; };
  auto const of_table = []<class T>(vec<T> const& x) -> T { return choosing::looked_up(x[1]); };
  cairn::step_index const n = 120;
  std::int64_t spared = 0;
  for (int const kind : {0, 1, 2, 3})
    for (cairn::step_index const from : {0, 55, 110})
      for (cairn::step_index const leaf : {1, 5}) {
        choosing const model{kind, from, from + 10};
        spared += same_choices<Tape>(model, n, leaf, cairn::at_end{square});
        same_choices<Tape>(model, n, leaf, cairn::at_every{1, of_table});
      }
  CHECK(spared > 12 * (n + n / 5) / 2);  // of the leaves without terms: most choose as the one before
}
/// Numbers of very different size. The small one chooses by itself, and is all that p[1] acts on; where `chosen`, the
/// large one takes so small steps that choices look like rounding. ADOL-C divides in other bits than double does.
struct uneven {
  double large = 1, small = 1;
  bool chosen = false;
  template <class T>
  void operator()(vec<T>& x, vec<T> const& p) const {
    bool const above = choosing::plain(x[1]) > 0.5 * small;
    if (chosen) x[0] = x[0] + 1e-12 * large * p[0] * (above ? 1.0 : 3.0) / 3.0;
    else x[0] = x[0] / 1.0017 - 0.001 * p[0] * x[0];
    x[1] = x[1] - (above ? 0.02 : 0.05) * p[1] * x[1] / 3.0;
    x[2] = x[2] * 0.9 + (x[0] / 3.0 - x[0] * (1.0 / 3.0));  // only rounding
  }
};
struct uneven_by_index {
  uneven inner;
  template <class T>
  void operator()(vec<T>& x, vec<T> const& p, cairn::step_index) const {
    inner(x, p);
  }
};
template <class Tape>
void small_choices() {
  cairn::step_index const n = 200;
  for (double const large : {1.0, 2000.0, 1e9})
    for (double const small : {1.0, 1e-6, 1e-12})
      for (bool const chosen : {false, true})
        for (cairn::step_index const leaf : {1, 5, 20}) {
          CAPTURE(large, small, chosen, leaf);
          auto const sum = [small]<class T>(vec<T> const& x) -> T { return x[0] + x[1] / small; };
          vec<double> const x0{large, small, 0}, p{1, 1};
          uneven const model{large, small, chosen};
          auto const plan = in_leaves(n, leaf, 5);
          cairn::taped by_tape{Tape{}, uneven_by_index{model}, p, cairn::at_end{sum}};
          cairn::taped by_replay{Tape{}, model, p, cairn::at_end{sum}};
          auto const known = cairn::differentiate(by_tape, x0, plan), found = cairn::differentiate(by_replay, x0, plan);
          for (std::size_t k = 0; k < 2; ++k) {
            CHECK(std::abs(found.params[k] - known.params[k]) <= 1e-9 * std::abs(known.params[k]));
            CHECK(std::abs(found.state[k] - known.state[k]) <= 1e-9 * std::abs(known.state[k]));
          }
          if (leaf == 1) CHECK(by_replay.tool().recordings() < std::uint64_t(n / 10));
        }
}
/// Numbers that a compiler computes by fused products and sums, and a tool does not: they differ by their last bits.
struct fused {
  template <class T>
  void operator()(vec<T>& x) const {
    vec<T> const old = x;
    for (std::size_t k = 0; k < x.size(); ++k) {
      T const &here = old[k], &next = old[(k + 1) % x.size()];
      if constexpr (std::is_same_v<T, double>) x[k] = std::fma(0.3, std::fma(-1.0, here, next), here);
      else x[k] = here + 0.3 * (next - here);
    }
  }
};
template <class Tape>
void fused_steps() {
  cairn::step_index const n = 300;
  vec<double> x0(200);
  for (std::size_t k = 0; k < x0.size(); ++k) x0[k] = 1.5 + std::sin(double(k * k));
  auto const summed = []<class T>(vec<T> const& x) -> T {
    T sum = x[0] * x[0];
    for (std::size_t k = 1; k < x.size(); ++k) sum = sum + x[k] * x[k];
    return sum;
  };
  cairn::taped loop{Tape{}, fused{}, cairn::no_params{}, cairn::at_end{summed}};
  auto const found = cairn::differentiate(loop, x0, cairn::revolve{n, 12});
  vec<double> bar = x0;  // a linear loop, whose adjoint steps are known
  for (cairn::step_index i = 0; i < n; ++i) fused{}(bar);
  for (double& b : bar) b *= 2;
  for (cairn::step_index i = 0; i < n; ++i) {
    vec<double> const old = bar;
    for (std::size_t k = 0; k < bar.size(); ++k) bar[k] = 0.7 * old[k] + 0.3 * old[(k + bar.size() - 1) % bar.size()];
  }
  for (std::size_t k = 0; k < bar.size(); ++k) CHECK(near_to(found.state[k], bar[k], 1e-12));
  CHECK(loop.tool().recordings() == 2u + checks_of(n - 1));  // no step is recorded for its last bits
}
/// Random models, with steps that go on to be moved.
template <class Tape>
void random_choices(unsigned seed, int models) {
  std::mt19937 random{seed};
  auto const draw = [&](int below) { return int(random() % unsigned(below)); };
  auto const of_table = []<class T>(vec<T> const& x) -> T { return choosing::looked_up(x[1]) * x[3]; };
  for (int k = 0; k < models; ++k) {
    cairn::step_index const n = 20 + draw(100), from = draw(int(n));
    choosing const model{draw(4), from, from + draw(int(n)), 0.02 * (1 + draw(40))};
    cairn::step_index const leaf = 1 + draw(7);
    same_choices<Tape>(model, n, leaf, cairn::at_end{of_table});
    same_choices<Tape>(model, n, leaf, cairn::at_every{1 + draw(int(leaf)), of_table} + cairn::at_end{of_table});
  }
}

}  // namespace ad_test
