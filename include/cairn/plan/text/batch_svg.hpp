// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file batch_svg.hpp  Memory and time over the size of a batch.
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>
#include <cairn/detail/linkage.hpp>
#include <cairn/plan/text/picture_colours.hpp>

namespace cairn {

/// What one size of a batch takes.
struct batch_figure {
  std::int64_t batch = 0;       ///< above 0
  std::int64_t peak_bytes = 0;  ///< not negative
  double seconds = 0;           ///< of one run; not negative, 0 if not known
};

/// One program, or one plan, over sizes of batches.
struct batch_series {
  std::string name;                   ///< in the legend
  std::vector<batch_figure> figures;  ///< ascending by `batch`
};

/// Two plots as an SVG, peak memory above and time below, both over the size of the batch: a line for each series and
/// a dot for each figure. An axis is logarithmic if its largest value is at least ten times the smallest. Without any
/// time there is one plot.
/// \param series  1 .. `most_picture_colours` of them   \param limit  bytes; above 0 a line marks them
/// \param title  title of the picture; by default it says what is shown
/// \throws invalid_plan   for another number of series, for batches that do not ascend from 1, and for negative or
///   infinite figures
[[nodiscard]] CAIRN_DECL std::string batch_svg(std::vector<batch_series> const& series, std::int64_t limit = 0,
                                               std::string_view title = {});

}  // namespace cairn

#ifndef CAIRN_SEPARATE_COMPILATION
#include <cairn/plan/text/impl/batch_svg.ipp>
#endif
