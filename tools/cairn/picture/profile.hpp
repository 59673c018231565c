// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file profile.hpp  Profiles as pictures: times and memory of nodes, memory over a sweep, and what batches take.
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <cairn/core/memory_sample.hpp>
#include <cairn/profile/profile_of.hpp>
#include <cairn/profile/profile_stats.hpp>

#include "batch.hpp"
#include "breakdown.hpp"
#include "memory_lines.hpp"

namespace picture {

/// The time of each node as an SVG, by part of the sweep: bars for a few nodes, areas by rank for many. This and the
/// other pictures over ranks begin with the first node that runs, after the leaves. Drawn by `breakdown_svg`.
/// \param title  title of the picture; by default it says what is shown
/// \throws invalid_plan   for more nodes than `breakdown_svg` draws
[[nodiscard]] inline std::string run_time_svg(profile_stats const& stats, std::string_view title = {});
/// The bytes that each node takes beside those active before it (its peak minus its active bytes), as an SVG of the
/// same kind.
/// \param title  title of the picture; by default it says what is shown
/// \throws invalid_plan   for more nodes than `breakdown_svg` draws
[[nodiscard]] inline std::string node_memory_svg(profile_stats const& stats, std::string_view title = {});
/// Memory against rank as an SVG: a line for the peak of each node, and one for what is active before it. Drawn by
/// `memory_lines_svg`.
/// \param title  title of the picture; by default it says what is shown
/// \throws invalid_plan   for more nodes than `memory_lines_svg` draws
[[nodiscard]] inline std::string rank_memory_svg(profile_stats const& stats, std::string_view title = {});
/// The highest peak by type as an SVG: a bar with a part for each type that has bytes there.
/// \param title  title of the picture; by default it says what is shown
[[nodiscard]] inline std::string breakdown_svg(peak_breakdown const& found, std::string_view title = {});

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
[[nodiscard]] inline std::string batch_svg(std::span<batch_stats const> batches, std::string_view title = {});
/// The highest peak of each batch by type as an SVG: a bar for each batch.
[[nodiscard]] inline std::string batch_breakdown_svg(std::span<batch_stats const> batches, std::string_view title = {});
/// Memory against rank as an SVG: a line for each batch.
/// \throws invalid_plan   for more batches than `most_colours`
[[nodiscard]] inline std::string batch_memory_svg(std::span<batch_stats const> batches, std::string_view title = {});

/// The nodes from the first operation on, without the leaves before it, of which there may be many.
[[nodiscard]] inline std::span<node_stats const> nodes_that_run(profile_stats const& stats) noexcept {
  std::size_t first = 0;
  while (first < stats.nodes.size() && stats.nodes[first].gtype != graph_type::forward) ++first;
  return std::span{stats.nodes}.subspan(first < stats.nodes.size() ? first : 0);
}
[[nodiscard]] inline std::string rank_words(std::size_t leaves) {
  return leaves == 0 ? "rank" : "rank, counted from " + std::to_string(leaves);
}
[[nodiscard]] inline std::string title_or(std::string_view title, char const* usual) {
  return std::string{title.empty() ? std::string_view{usual} : title};
}

using node_amount = std::int64_t (*)(node_stats const&);

/// One number per node that runs, in the column of the part of the sweep that the node belongs to.
[[nodiscard]] inline breakdown by_part(profile_stats const& stats, breakdown_unit unit, std::string title,
                                       node_amount amount) {
  auto const nodes = nodes_that_run(stats);
  breakdown parts{.kinds = {"forward", "loss, updates", "backward"},
                  .rows = {},
                  .unit = unit,
                  .across = rank_words(stats.nodes.size() - nodes.size()),
                  .title = std::move(title)};
  parts.rows.reserve(nodes.size());
  for (node_stats const& node : nodes) {
    std::int64_t const value = (std::max)(amount(node), std::int64_t{0});
    bool const forward = node.gtype == graph_type::forward, backward = node.gtype == graph_type::backward;
    parts.rows.push_back(
        {node.node_name, {forward ? value : 0, forward || backward ? 0 : value, backward ? value : 0}});
  }
  return parts;
}

[[nodiscard]] inline breakdown_row types_of(peak_breakdown const& found, std::string name) {
  breakdown_row row{std::move(name), {}};
  for (std::int64_t const bytes : found.bytes) row.values.push_back((std::max)(bytes, std::int64_t{0}));
  return row;
}
[[nodiscard]] inline breakdown by_type(std::string across, std::string title) {
  breakdown parts{
      .kinds = {}, .rows = {}, .unit = breakdown_unit::bytes, .across = std::move(across), .title = std::move(title)};
  for (std::size_t type = 0; type < peak_breakdown{}.bytes.size(); ++type)
    parts.kinds.emplace_back(word_of(node_type(type)));
  return parts;
}

/// A curve with one number of bytes for each node that runs.
[[nodiscard]] inline memory_line line_of(profile_stats const& stats, std::string name, node_amount bytes) {
  memory_line line{std::move(name), {}};
  for (node_stats const& node : nodes_that_run(stats)) {
    memory_sample at{};
    at.bytes = (std::max)(bytes(node), std::int64_t{0});
    line.samples.push_back(at);
  }
  return line;
}
[[nodiscard]] inline std::int64_t peak_of_node(node_stats const& node) { return node.median_peak_mem_bytes; }

inline std::string run_time_svg(profile_stats const& stats, std::string_view title) {
  return breakdown_svg(
      by_part(stats, breakdown_unit::nanoseconds, title_or(title, "Time of each node"),
              [](node_stats const& node) { return std::int64_t(std::llround(node.median_run_time_s * 1e9)); }));
}

inline std::string node_memory_svg(profile_stats const& stats, std::string_view title) {
  return breakdown_svg(
      by_part(stats, breakdown_unit::bytes, title_or(title, "Memory that each node takes beside what is active"),
              [](node_stats const& node) { return node.median_peak_mem_bytes - node.median_active_mem_bytes; }));
}

inline std::string rank_memory_svg(profile_stats const& stats, std::string_view title) {
  auto const active = [](node_stats const& node) { return node.median_active_mem_bytes; };
  std::string const heading = title_or(title, "Memory against rank"),
                    across = rank_words(stats.nodes.size() - nodes_that_run(stats).size());
  return memory_lines_svg({line_of(stats, "peak of a node", peak_of_node), line_of(stats, "active before it", active)},
                          {.across = across, .title = heading});
}

inline std::string breakdown_svg(peak_breakdown const& found, std::string_view title) {
  breakdown parts = by_type("peak", title_or(title, "What the highest peak is made of"));
  parts.rows.push_back(types_of(found, "peak at rank " + std::to_string(found.rank)));
  return breakdown_svg(parts);
}

inline std::string batch_svg(std::span<batch_stats const> batches, std::string_view title) {
  batch_series steps{"a step", {}};
  for (auto const& one : batches) steps.figures.push_back({one.batch, one.peak_bytes, one.latency_s});
  return batch_svg(std::vector{std::move(steps)}, 0, title_or(title, "Peak memory and time of a step by batch"));
}

inline std::string batch_breakdown_svg(std::span<batch_stats const> batches, std::string_view title) {
  breakdown parts = by_type("batch", title_or(title, "What the highest peak is made of, by batch"));
  for (auto const& one : batches) parts.rows.push_back(types_of(one.breakdown, "batch " + std::to_string(one.batch)));
  return breakdown_svg(parts);
}

inline std::string batch_memory_svg(std::span<batch_stats const> batches, std::string_view title) {
  std::vector<memory_line> lines;
  std::size_t leaves = 0;
  for (auto const& one : batches) {
    leaves = one.stats.nodes.size() - nodes_that_run(one.stats).size();
    lines.push_back(line_of(one.stats, "batch " + std::to_string(one.batch), peak_of_node));
  }
  std::string const heading = title_or(title, "Memory against rank, by batch"), across = rank_words(leaves);
  return memory_lines_svg(lines, {.across = across, .title = heading});
}

}  // namespace picture
