// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file breakdown.hpp  What memory or time is spent on: parts of a whole, for one moment or for many.
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>
#include <cairn/detail/linkage.hpp>
#include <cairn/plan/text/picture_colours.hpp>

namespace cairn {

/// What the numbers of a breakdown are.
enum class breakdown_unit : std::uint8_t { bytes, nanoseconds, count };

/// The parts of one whole: the memory at one moment or for one batch, the time of one node.
struct breakdown_row {
  std::string name;                  ///< beside its bar
  std::vector<std::int64_t> values;  ///< one for each kind, not negative
};

/// Wholes and their parts by kind, for example the bytes of parameters, activations and gradients at each peak.
struct breakdown {
  std::vector<std::string> kinds;    ///< 1 .. `most_picture_colours` of them
  std::vector<breakdown_row> rows;   ///< up to `most_bars` are drawn as bars with names, more as areas side by side
  breakdown_unit unit = breakdown_unit::bytes;  ///< of all numbers
  std::string across = "row";        ///< what a row is: "batch", "action", "rank"
  std::string title = {};            ///< by default it says what is shown
};

/// The most rows that `breakdown_svg` draws as bars.
inline constexpr std::size_t most_bars = 32;

/// The breakdown as an SVG: a horizontal bar for each row, with its sum, or, for many rows, areas over the row numbers
/// with the largest sum marked. The text below the title names the parts of the largest sum.
/// \throws invalid_plan   for another number of kinds, for a row without one number for each kind, and for negative
///   numbers
[[nodiscard]] CAIRN_DECL std::string breakdown_svg(breakdown const& of);

}  // namespace cairn

#ifndef CAIRN_SEPARATE_COMPILATION
#include <cairn/plan/text/impl/breakdown.ipp>
#endif
