// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file memory_lines.hpp  Memory over time or over actions, several curves in one picture: predicted beside measured,
/// or one for each size of a batch.
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>
#include <cairn/core/memory_sample.hpp>
#include <cairn/detail/linkage.hpp>
#include <cairn/plan/text/picture_colours.hpp>

namespace cairn {

/// One curve of a picture.
struct memory_line {
  std::string name;                    ///< in the legend, beside its peak
  std::vector<memory_sample> samples;  ///< in the order of time
};

/// What a picture of memory shows across, and its title.
struct memory_lines_options {
  bool over_time = false;         ///< across: `begin` and `end` of the samples; otherwise their numbers 0, 1, 2 ...
  std::string across = "action";  ///< what a sample is, unless `over_time`
  /// The first curve is drawn as an area, and the text below the title says how far the peaks of the others are from
  /// its peak.
  bool first_is_predicted = false;
  std::string_view title = {};    ///< by default it says what is shown
};

/// Memory as an SVG: a line for each curve, and the peak of each in the legend. See `samples_of` for predicted curves,
/// and `memory_samples` for measured ones.
/// \param lines  1 .. `most_picture_colours` of them, at most `most_drawn_actions` samples in all
/// \throws invalid_plan   for another number of lines or samples, for negative bytes, and, over time, for samples that
///   begin before the one before them ends, or end before they begin
[[nodiscard]] CAIRN_DECL std::string memory_lines_svg(std::vector<memory_line> const& lines,
                                                      memory_lines_options const& options = {});

}  // namespace cairn

#ifndef CAIRN_SEPARATE_COMPILATION
#include <cairn/plan/text/impl/memory_lines.ipp>
#endif
