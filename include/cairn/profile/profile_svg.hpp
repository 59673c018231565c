// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file profile_svg.hpp  Profiles as pictures: times and memory of nodes, memory over a sweep, and what batches take.
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <cairn/detail/linkage.hpp>
#include <cairn/profile/profile_of.hpp>
#include <cairn/profile/profile_stats.hpp>

namespace cairn {

/// The time of each node as an SVG, by part of the sweep: bars for a few nodes, areas by rank for many. This and the
/// other pictures over ranks begin with the first node that runs, after the leaves. Drawn by `breakdown_svg`.
/// \param title  title of the picture; by default it says what is shown
/// \throws invalid_plan   for more nodes than `breakdown_svg` draws
[[nodiscard]] CAIRN_DECL std::string run_time_svg(profile_stats const& stats, std::string_view title = {});
/// The bytes that each node takes beside those active before it (its peak minus its active bytes), as an SVG of the
/// same kind.
/// \param title  title of the picture; by default it says what is shown
/// \throws invalid_plan   for more nodes than `breakdown_svg` draws
[[nodiscard]] CAIRN_DECL std::string node_memory_svg(profile_stats const& stats, std::string_view title = {});
/// Memory against rank as an SVG: a line for the peak of each node, and one for what is active before it. Drawn by
/// `memory_lines_svg`.
/// \param title  title of the picture; by default it says what is shown
/// \throws invalid_plan   for more nodes than `memory_lines_svg` draws
[[nodiscard]] CAIRN_DECL std::string rank_memory_svg(profile_stats const& stats, std::string_view title = {});
/// The highest peak by type as an SVG: a bar with a part for each type that has bytes there.
/// \param title  title of the picture; by default it says what is shown
[[nodiscard]] CAIRN_DECL std::string breakdown_svg(peak_breakdown const& found, std::string_view title = {});

/// What one batch size takes.
struct batch_stats {
  std::int64_t batch = 0;       ///< its size
  double latency_s = 0;         ///< seconds of one plain step
  std::int64_t peak_bytes = 0;  ///< the peak to be drawn: that of `breakdown`, or one that was counted
  peak_breakdown breakdown;     ///< at the highest peak of the profile
  profile_stats stats;          ///< of the profile
};
/// The peak of each batch, and the time of a step, as an SVG of two plots.
/// \param batches  ascending by their size
/// \throws invalid_plan   for batches that do not ascend from 1
[[nodiscard]] CAIRN_DECL std::string batch_svg(std::span<batch_stats const> batches, std::string_view title = {});
/// The highest peak of each batch by type as an SVG: a bar for each batch.
[[nodiscard]] CAIRN_DECL std::string batch_breakdown_svg(std::span<batch_stats const> batches,
                                                         std::string_view title = {});
/// Memory against rank as an SVG: a line for each batch.
/// \throws invalid_plan   for more batches than `most_picture_colours`
[[nodiscard]] CAIRN_DECL std::string batch_memory_svg(std::span<batch_stats const> batches,
                                                      std::string_view title = {});

}  // namespace cairn

#ifndef CAIRN_SEPARATE_COMPILATION
#include <cairn/profile/impl/profile_svg.ipp>
#endif
