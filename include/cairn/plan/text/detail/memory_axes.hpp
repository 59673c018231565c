#pragma once
/// \file memory_axes.hpp  Axes of pictures of memory: times in an unnamed unit, and bytes.
#include <string>
#include <cairn/core/wide.hpp>
#include <cairn/plan/text/detail/svg_chart.hpp>

namespace cairn::detail {

/// An axis whose unit is a power of 1000 of which `most` has at least four, as in "makespan (10^6)".
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

}  // namespace cairn::detail
