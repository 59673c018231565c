// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file scale.hpp  Axes: which values they show, where these are, and which numbers are written beside them.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include <cairn/core/bytes.hpp>
#include <cairn/core/wide.hpp>

#include "ticks.hpp"

namespace picture {

/// What an axis counts. Times are in picoseconds.
enum class quantity : std::uint8_t { count, bytes, time };

/// An axis from 0 to `most`, or a logarithmic one from `least` to `most`.
struct axis {
  std::string name;
  wide most = 0;
  axis_unit in;                   ///< the unit of an axis from 0
  quantity of = quantity::count;  ///< what a logarithmic axis counts
  wide least = 0;                 ///< above 0 on a logarithmic axis
  std::vector<tick> marked = {};  ///< the numbers beside the axis, instead of round ones
  [[nodiscard]] bool is_logarithmic() const noexcept { return least > 0; }
};

/// log2 of a number in units of 2^-24. The arithmetic is in integers, so every compiler gives the same result.
/// \pre value > 0
[[nodiscard]] constexpr std::int64_t log2_of(wide value) noexcept {
  int power = 0;
  while (power < 127 && value >> (power + 1) != 0) ++power;
  auto mantissa = std::uint64_t(power >= 31 ? value >> (power - 31) : value << (31 - power));  // 2^31 .. 2^32 - 1
  std::int64_t log = power;
  for (int bit = 0; bit < 24; ++bit) {
    mantissa = mantissa * mantissa >> 31;
    log *= 2;
    if (mantissa >> 32 != 0) ++log, mantissa >>= 1;
  }
  return log;
}

/// The position of `value` along an axis of `length` units. Values left of a logarithmic axis are at its start.
[[nodiscard]] constexpr std::int64_t place_along(wide value, wide least, wide most, std::int64_t length) noexcept {
  if (least == 0) return place_on(value, most, length);
  if (value <= least || most <= least) return 0;
  std::int64_t const start = log2_of(least);
  return place_on(wide(log2_of(value) - start), wide(log2_of(most) - start), length);
}

/// The units in which numbers beside a logarithmic axis are written, from the smallest.
[[nodiscard]] inline std::vector<axis_unit> units_of(quantity of) {
  std::vector<axis_unit> units;
  wide unit = 1;
  switch (of) {
    case quantity::bytes:
      units.push_back({1, " B"});
      for (int power = 1; power <= 6; ++power)
        units.push_back({unit *= 1024, std::string{' '} + unit_letters[power] + "iB"});
      break;
    case quantity::time:
      for (char const* name : {" ps", " ns", " us", " ms", " s"}) units.push_back({unit, name}), unit *= 1'000;
      break;
    case quantity::count:
      for (char const* name : {"", "k", "M", "G", "T", "P", "E"}) units.push_back({unit, name}), unit *= 1'000;
      break;
  }
  return units;
}

/// An amount in three digits: "64 KiB", "7.63 KiB", "763 KiB", "20 ms", "5k".
[[nodiscard]] inline std::string amount_text(wide value, quantity of) {
  auto const units = units_of(of);
  axis_unit in = units.front();
  for (axis_unit const& unit : units)
    if (value >= unit.unit) in = unit;
  wide const rounded = value / in.unit < 100 ? value : (value + in.unit / 2) / in.unit * in.unit;
  return in_units(rounded, in.unit) + in.name;
}

/// Round numbers for a logarithmic axis from `least` to `most`, at most about `count` of them: powers of 2 for bytes,
/// otherwise 1, 2 and 5 times powers of 10. The first is the last round number that is not above `least`.
/// \pre 0 < least <= most, count > 0
[[nodiscard]] inline std::vector<wide> round_numbers(wide least, wide most, quantity of, std::size_t count) {
  std::vector<wide> all;
  constexpr wide largest = wide{1} << 120;
  auto const gather = [&](auto next) {  // next(k): the number with index k, 0 if it is skipped
    all.clear();
    for (int k = 0;; ++k) {
      wide const number = next(k);
      if (number == 0) continue;
      if (number <= least) all.assign(1, number);
      else if (number < most) all.push_back(number);
      if (number >= most || number >= largest) return all.size() <= count;
    }
  };
  if (of == quantity::bytes) {
    for (int stride = 1;; stride = stride < 10 ? (stride == 2 ? 5 : stride * 2) : stride + 10)
      if (gather([&](int k) { return wide{1} << (std::min)(k * stride, 120); }) || stride > 60) return all;
  }
  auto const power_of_10 = [&](int power) {
    wide ten = 1;
    for (; power > 0 && ten < largest; --power) ten *= 10;
    return ten;
  };
  if (gather([&](int k) { return power_of_10(k / 3) * wide(k % 3 == 0 ? 1 : k % 3 == 1 ? 2 : 5); })) return all;
  for (int stride = 1;; ++stride)
    if (gather([&](int k) { return power_of_10(k * stride); }) || stride > 20) return all;
}

/// The least and the most of the values taken so far; both 0 before the first.
struct value_range {
  wide least = 0, most = 0;
  bool empty = true;
  constexpr void take(wide value) noexcept {
    least = empty ? value : (std::min)(least, value);
    most = (std::max)(most, value);
    empty = false;
  }
};

/// An axis for values from `least` to `most`: from 0, or logarithmic if the largest is at least ten times the smallest
/// one. A logarithmic axis begins at a round number.
/// \param plain  the axis from 0 that would show them   \param least  0 asks for an axis from 0
[[nodiscard]] inline axis ranging(axis plain, std::string const& name, quantity of, wide least) {
  if (least == 0 || plain.most / 10 < least) return plain;
  wide const start = round_numbers(least, plain.most, of, 1'000).front();
  return {name + ", logarithmic", plain.most, {}, of, start};
}

/// The numbers beside an axis, about `count`, from its start to its largest value. The caller leaves out those that
/// would touch their neighbours.
[[nodiscard]] inline std::vector<tick> ticks_of(axis const& of, wide count) {
  if (!of.marked.empty()) return of.marked;
  if (!of.is_logarithmic()) return ticks_to(of.most, count, of.in.unit);
  std::vector<tick> all{{of.least, amount_text(of.least, of.of)}};
  for (wide const number : round_numbers(of.least, of.most, of.of, std::size_t(count)))
    if (number > of.least) all.push_back({number, amount_text(number, of.of)});
  all.push_back({of.most, amount_text(of.most, of.of)});
  return all;
}

}  // namespace picture
