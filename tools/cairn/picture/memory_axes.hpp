// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file memory_axes.hpp  Axes of pictures of memory: bytes, seconds, and times in an unnamed unit.
#include <string>

#include <cairn/core/wide.hpp>

#include "scale.hpp"
#include "ticks.hpp"

namespace picture {

/// An axis in the largest power of 1000 that fits four times into `most`, as in "makespan (10^6)".
[[nodiscard]] inline axis count_axis(std::string const& name, wide most) {
  wide unit = 1;
  int power = 0;
  while (power < 15 && most / 1000 >= 4 * unit) unit *= 1000, power += 3;
  return {power == 0 ? name : name + " (10^" + std::to_string(power) + ")", most, {unit, {}}};
}
[[nodiscard]] inline axis memory_axis(wide most) {
  axis_unit const in = byte_unit(most);
  return {"memory (" + in.name + ")", most, in};
}
/// An axis of times, given in picoseconds, in the largest unit that fits four times into `most`.
[[nodiscard]] inline axis time_axis(wide most) {
  axis_unit in{1'000, "ns"};
  wide unit = 1'000;
  for (char const* name : {"us", "ms", "s"})
    if (unit *= 1'000; most >= 4 * unit) in = {unit, name};
  return {"time (" + in.name + ")", most, in};
}
/// Seconds as picoseconds, rounded; at most 10^26.
[[nodiscard]] inline wide picoseconds(double seconds) {
  return seconds > 0 ? wide((seconds < 1e26 ? seconds : 1e26) * 1e12 + 0.5) : 0;
}

}  // namespace picture
