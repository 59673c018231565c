// SPDX-License-Identifier: Apache-2.0
#pragma once
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
#include <cairn/plan/text/batch_svg.hpp>
#include <cairn/plan/text/breakdown.hpp>
#include <cairn/plan/text/memory_lines.hpp>
#include <cairn/profile/profile_svg.hpp>

namespace cairn {
namespace detail {

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
  breakdown parts{.kinds = {}, .rows = {}, .unit = breakdown_unit::bytes, .across = std::move(across),
                  .title = std::move(title)};
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

}  // namespace detail

CAIRN_DECL std::string run_time_svg(profile_stats const& stats, std::string_view title) {
  return breakdown_svg(detail::by_part(
      stats, breakdown_unit::nanoseconds, detail::title_or(title, "Time of each node"),
      [](node_stats const& node) { return std::int64_t(std::llround(node.median_run_time_s * 1e9)); }));
}

CAIRN_DECL std::string node_memory_svg(profile_stats const& stats, std::string_view title) {
  return breakdown_svg(detail::by_part(
      stats, breakdown_unit::bytes, detail::title_or(title, "Memory that each node takes beside what is active"),
      [](node_stats const& node) { return node.median_peak_mem_bytes - node.median_active_mem_bytes; }));
}

CAIRN_DECL std::string rank_memory_svg(profile_stats const& stats, std::string_view title) {
  auto const active = [](node_stats const& node) { return node.median_active_mem_bytes; };
  std::string const heading = detail::title_or(title, "Memory against rank"),
                    across = detail::rank_words(stats.nodes.size() - detail::nodes_that_run(stats).size());
  return memory_lines_svg({detail::line_of(stats, "peak of a node", detail::peak_of_node),
                           detail::line_of(stats, "active before it", active)},
                          {.across = across, .title = heading});
}

CAIRN_DECL std::string breakdown_svg(peak_breakdown const& found, std::string_view title) {
  breakdown parts = detail::by_type("peak", detail::title_or(title, "What the highest peak is made of"));
  parts.rows.push_back(detail::types_of(found, "peak at rank " + std::to_string(found.rank)));
  return breakdown_svg(parts);
}

CAIRN_DECL std::string batch_svg(std::span<batch_stats const> batches, std::string_view title) {
  batch_series steps{"a step", {}};
  for (auto const& one : batches) steps.figures.push_back({one.batch, one.peak_bytes, one.latency_s});
  return batch_svg(std::vector{std::move(steps)}, 0,
                   detail::title_or(title, "Peak memory and time of a step by batch"));
}

CAIRN_DECL std::string batch_breakdown_svg(std::span<batch_stats const> batches, std::string_view title) {
  breakdown parts = detail::by_type("batch", detail::title_or(title, "What the highest peak is made of, by batch"));
  for (auto const& one : batches)
    parts.rows.push_back(detail::types_of(one.breakdown, "batch " + std::to_string(one.batch)));
  return breakdown_svg(parts);
}

CAIRN_DECL std::string batch_memory_svg(std::span<batch_stats const> batches, std::string_view title) {
  std::vector<memory_line> lines;
  std::size_t leaves = 0;
  for (auto const& one : batches) {
    leaves = one.stats.nodes.size() - detail::nodes_that_run(one.stats).size();
    lines.push_back(detail::line_of(one.stats, "batch " + std::to_string(one.batch), detail::peak_of_node));
  }
  std::string const heading = detail::title_or(title, "Memory against rank, by batch"),
                    across = detail::rank_words(leaves);
  return memory_lines_svg(lines, {.across = across, .title = heading});
}

}  // namespace cairn
