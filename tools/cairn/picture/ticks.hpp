// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file ticks.hpp  The numbers along an axis.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "words.hpp"
#include <cairn/core/bytes.hpp>
#include <cairn/core/wide.hpp>

namespace picture {

/// The position of `value` in 0 .. `range` on a line of `length` units, rounded to nearest; 0 for an empty range. 0 <=
/// length < 2^31
[[nodiscard]] constexpr std::int64_t place_on(wide value, wide range, std::int64_t length) noexcept {
  while (range >> 96 != 0) range >>= 1, value >>= 1;
  return range == 0 ? 0 : std::int64_t((value * wide(length) + range / 2) / range);
}

/// The least of 1, 2, 5, 10, 20, 50 ... of which at most `count` multiples fit into `most`. count >= 1
[[nodiscard]] constexpr wide tick_step(wide most, wide count) noexcept {
  for (wide ten = 1;; ten *= 10)
    for (wide const step : {ten, 2 * ten, 5 * ten})
      if (most / step <= count) return step;
}

struct tick {
  wide at = 0;
  std::string label;
};

/// The unit of an axis: `unit` is drawn as 1, and is called `name`.
struct axis_unit {
  wide unit = 1;
  std::string name;
};

/// The largest binary unit that fits four times into `most`.
[[nodiscard]] inline axis_unit byte_unit(wide most) {
  int power = 0;
  wide unit = 1;
  while (power < 6 && most / 1024 >= 4 * unit) ++power, unit *= 1024;
  std::string const name = power == 0 ? "bytes" : std::string{unit_letters[power]} + "iB";
  return {unit, name};
}

/// `value` in units: without decimals if it is whole, else with two, or with one from 100 units on.
[[nodiscard]] inline std::string in_units(wide value, wide unit) {
  wide const places = value % unit == 0 ? 1 : value / unit < 100 ? 100 : 10;
  wide const rounded = value / unit * places + (value % unit * places + unit / 2) / unit;
  std::string text = grouped(rounded / places);
  if (places == 1) return text;
  std::string const rest = digits_of(rounded % places);
  return text + "." + (places == 100 && rest.size() == 1 ? "0" : "") + rest;
}

/// About `count` round numbers from 0. `most` itself is the last, and replaces one that would be too close.
[[nodiscard]] inline std::vector<tick> ticks_to(wide most, wide count, wide unit = 1) {
  std::vector<tick> all;
  wide const step = tick_step(most / unit, count) * unit;
  for (wide at = 0; at < most; at += step)
    if (at == 0 || 5 * (most - at) >= 2 * step) all.push_back({at, in_units(at, unit)});
  all.push_back({most, in_units(most, unit)});
  return all;
}

}  // namespace picture
