// SPDX-License-Identifier: Apache-2.0
#pragma once
// What every tape keeps of `cairn::ad_tape`, whatever tool it is of.
#include <cstddef>
#include <stdexcept>
#include <vector>
#include <cairn/adapt/ad/tape.hpp>
#include "support/catch.hpp"

namespace ad_test {

using numbers = std::vector<double>;

/// Records f(x), which fills y, at `values`; the tape is ready to be reversed.
template <class Tape, class F>
void record_at(Tape& tape, numbers const& values, std::size_t results, F f) {
  using scalar = typename Tape::scalar;
  std::vector<scalar> x(values.size()), y(results);
  tape.begin(values.size());
  for (std::size_t k = 0; k < values.size(); ++k) tape.independent(x[k], values[k]);
  tape.record();
  f(x, y);
  for (auto& each : y) tape.dependent(each);
  tape.end();
}
template <class Tape>
numbers reversed(Tape& tape, std::size_t inputs, numbers const& seeds) {
  numbers bars(inputs, 77.0);
  tape.reverse(seeds.data(), bars.data());
  return bars;
}

template <class Tape>
void conforms() {
  Tape tape;
  auto const product = [](auto& x, auto& y) {
    y[0] = x[0] * x[1];
    y[1] = x[0] - 2.0 * x[1];
  };
  record_at(tape, {3, 5}, 2, product);
  CHECK(tape.bytes() > 0);
  CHECK(reversed(tape, 2, {1, 0}) == numbers{5, 3});
  CHECK(reversed(tape, 2, {0, 1}) == numbers{1, -2});  // once more, with other seeds
  CHECK(reversed(tape, 2, {10, 100}) == numbers{150, -170});

  // anew, with other values, sizes and operations
  record_at(tape, {2}, 1, [](auto& x, auto& y) { y[0] = x[0] * x[0] * x[0]; });
  CHECK(reversed(tape, 1, {1}) == numbers{12});

  // an independent variable that is a result, twice; a result that is a constant; a variable that nothing reads
  record_at(tape, {4, 9}, 4, [](auto& x, auto& y) {
    y[0] = x[0];
    y[1] = x[0];
    y[2] = 3.5;
    y[3] = x[0] * x[0];
  });
  CHECK(reversed(tape, 2, {1, 10, 100, 1000}) == numbers{8011, 0});

  // one variable passed twice, and one that changes after that
  {
    using scalar = typename Tape::scalar;
    scalar x;
    tape.begin(1);
    tape.independent(x, 3);
    tape.record();
    scalar y = x * x;
    tape.dependent(y);
    tape.dependent(y);
    tape.dependent(x);
    y = y * y;
    x = 0.0;
    tape.dependent(y);
    tape.end();
    CHECK(reversed(tape, 1, {1, 10, 100, 0}) == numbers{166});
    CHECK(reversed(tape, 1, {0, 0, 0, 1}) == numbers{108});
  }

  // none of one kind
  record_at(tape, {1, 2}, 0, [](auto&, auto&) {});
  CHECK(reversed(tape, 2, {}) == numbers{0, 0});
  record_at(tape, {}, 1, [](auto&, auto& y) { y[0] = 1.0; });
  CHECK(reversed(tape, 0, {1}).empty());

  // left by an exception, at every point of a recording
  for (int point = 0; point < 4; ++point) {
    using scalar = typename Tape::scalar;
    scalar x, y;
    tape.begin(1);
    if (point > 0) tape.independent(x, 1);
    if (point > 1) {
      tape.record();
      y = x * x;
    }
    if (point > 2) tape.dependent(y);
    tape.abandon();
    record_at(tape, {3, 5}, 2, product);
    CHECK(reversed(tape, 2, {1, 0}) == numbers{5, 3});
  }

  tape.clear();
  record_at(tape, {3, 5}, 2, product);
  CHECK(reversed(tape, 2, {1, 0}) == numbers{5, 3});

  Tape other{std::move(tape)};
  record_at(other, {3, 5}, 2, product);
  CHECK(reversed(other, 2, {1, 0}) == numbers{5, 3});
}

/// What a result has gathered is added up in the order of the tape, its seed first: so sums over leaves have the bits
/// of one tape.
template <class Tape>
void adds_seeds_first() {
  Tape tape;
  typename Tape::scalar x;
  tape.begin(1);
  tape.independent(x, 1);
  tape.record();
  typename Tape::scalar const more = 1e16 * x, less = -1e16 * x;
  tape.dependent(more);
  tape.dependent(less);
  tape.dependent(x);
  tape.end();
  CHECK(reversed(tape, 1, {1, 1, 1}) == numbers{0});  // (1 - 1e16) + 1e16, and not (1e16 - 1e16) + 1
}

}  // namespace ad_test
