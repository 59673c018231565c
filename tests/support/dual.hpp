// SPDX-License-Identifier: Apache-2.0
// A number and its derivative along one direction: the forward scalar of a tool, in the few operations that the tests
// need.
#pragma once
#include <cmath>

namespace dual {

struct number {
  double value = 0, slope = 0;
  number() = default;
  number(double v, double s = 0) : value{v}, slope{s} {}
  bool operator==(number const&) const = default;

  number& operator+=(number const& b) { return *this = *this + b; }
  number& operator-=(number const& b) { return *this = *this - b; }
  number& operator*=(number const& b) { return *this = *this * b; }
  friend number operator+(number const& a, number const& b) { return {a.value + b.value, a.slope + b.slope}; }
  friend number operator-(number const& a, number const& b) { return {a.value - b.value, a.slope - b.slope}; }
  friend number operator*(number const& a, number const& b) {
    return {a.value * b.value, a.slope * b.value + a.value * b.slope};
  }
  friend number operator/(number const& a, number const& b) {
    double const q = a.value / b.value;
    return {q, (a.slope - q * b.slope) / b.value};
  }
  friend number sin(number const& a) { return {std::sin(a.value), std::cos(a.value) * a.slope}; }
  friend number cos(number const& a) { return {std::cos(a.value), -std::sin(a.value) * a.slope}; }
};

}  // namespace dual
