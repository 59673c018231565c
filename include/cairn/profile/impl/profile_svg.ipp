#pragma once
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>
#include <cairn/profile/profile_svg.hpp>
#include <cairn/plan/text/detail/memory_axes.hpp>
#include <cairn/plan/text/detail/quantities.hpp>
#include <cairn/plan/text/detail/svg_chart.hpp>
#include <cairn/plan/text/figure_text.hpp>
#include <cairn/profile/detail/bar_chart.hpp>

namespace cairn {
namespace detail {

[[nodiscard]] inline wide nanoseconds_in(double seconds) { return seconds > 0 ? wide(std::llround(seconds * 1e9)) : 0; }
[[nodiscard]] inline wide bytes_above_zero(std::int64_t bytes) noexcept { return bytes > 0 ? wide(bytes) : 0; }

[[nodiscard]] inline std::vector<legend_entry> legend_of_parts() {
  return {{"forward", std::string{colour_of(graph_type::forward)}, line_sample},
          {"loss, updates", std::string{colour_of(graph_type::other)}, line_sample},
          {"backward", std::string{colour_of(graph_type::backward)}, line_sample}};
}
[[nodiscard]] inline std::string profile_peak_words(profile_stats const& stats, std::size_t& summit) {
  summit = 0;
  for (std::size_t k = 0; k < stats.nodes.size(); ++k)
    if (stats.nodes[k].median_peak_mem_bytes > stats.nodes[summit].median_peak_mem_bytes) summit = k;
  if (stats.nodes.empty()) return "no nodes";
  return "peak " + exact_bytes_text(stats.nodes[summit].median_peak_mem_bytes) + " in " + stats.nodes[summit].node_name;
}

/// The first node that runs: pictures over ranks leave out the leaves before it, which may be many.
[[nodiscard]] inline std::size_t first_run(profile_stats const& stats) noexcept {
  std::size_t first = 0;
  while (first < stats.nodes.size() && stats.nodes[first].gtype != graph_type::forward) ++first;
  return first < stats.nodes.size() ? first : 0;
}
[[nodiscard]] inline axis rank_axis(std::size_t first, wide count) {
  return {first == 0 ? "rank" : "rank, counted from " + std::to_string(first), count, {}};
}

/// Bars by rank, each with the height that `height_of` tells.
template <class Height>
[[nodiscard]] std::string node_bars(profile_stats const& stats, std::string_view heading, std::string const& note,
                                    axis const& y, Height const& height_of) {
  std::size_t const first = first_run(stats), count = stats.nodes.size() - first;
  svg_chart chart{heading, note, std::string{heading} + ": " + note + ". Across: nodes by rank.", 32'000,
                  legend_of_parts()};
  chart.axes(rank_axis(first, count), y, false);
  chart.open_group("marks");
  for (std::size_t k = 0; k < count; ++k)
    draw_bar(chart, colour_of(stats.nodes[first + k].gtype), chart.across(2 * k + 1, 2 * count), chart.bottom(),
             chart.up(height_of(stats.nodes[first + k]), y.most), bar_width(chart, count));
  chart.close_group();
  return std::move(chart).finish();
}

/// One bar a batch.
template <class Height>
[[nodiscard]] std::string batch_bars(std::span<batch_stats const> batches, std::string_view heading, axis const& y,
                                     std::vector<legend_entry> const& legend, Height const& draw_batch) {
  std::vector<std::string> names;
  for (auto const& one : batches) names.push_back(std::to_string(one.batch));
  std::string const note =
      batches.empty() ? "no batches" : "batches of " + names.front() + " to " + names.back() + "; " + y.name;
  svg_chart chart{heading, note, std::string{heading} + ", " + note + ".", 32'000, legend};
  draw_named_axes(chart, names, "batch", y);
  chart.open_group("marks");
  for (std::size_t k = 0; k < batches.size(); ++k)
    draw_batch(chart, batches[k], chart.across(2 * k + 1, 2 * batches.size()), bar_width(chart, batches.size()));
  chart.close_group();
  return std::move(chart).finish();
}
[[nodiscard]] inline std::string_view title_or(std::string_view title, std::string_view usual) noexcept {
  return title.empty() ? usual : title;
}

}  // namespace detail

CAIRN_DECL std::string run_time_svg(profile_stats const& stats, std::string_view title) {
  wide most = 0;
  double sum = 0;
  for (auto const& node : stats.nodes) {
    most = (std::max)(most, detail::nanoseconds_in(node.median_run_time_s));
    sum += node.median_run_time_s;
  }
  return detail::node_bars(stats, detail::title_or(title, "Time of each node"),
                           detail::seconds_text(sum) + " in all, medians", detail::duration_axis(most),
                           [](node_stats const& node) { return detail::nanoseconds_in(node.median_run_time_s); });
}

CAIRN_DECL std::string node_memory_svg(profile_stats const& stats, std::string_view title) {
  auto const taken = [](node_stats const& node) {
    return detail::bytes_above_zero(node.median_peak_mem_bytes - node.median_active_mem_bytes);
  };
  wide most = 0;
  for (auto const& node : stats.nodes) most = (std::max)(most, taken(node));
  return detail::node_bars(stats, detail::title_or(title, "Memory that each node takes"),
                           "peak of a node less what is active before it, at most " + detail::bytes_text(most),
                           detail::memory_axis(most), taken);
}

CAIRN_DECL std::string rank_memory_svg(profile_stats const& stats, std::string_view title) {
  std::size_t summit = 0;
  std::string const note = detail::profile_peak_words(stats, summit);
  std::size_t const first = detail::first_run(stats);
  wide const count = stats.nodes.size() - first;
  wide const most = stats.nodes.empty() ? 0 : detail::bytes_above_zero(stats.nodes[summit].median_peak_mem_bytes);
  std::vector<detail::legend_entry> const legend{{"peak of a node", "held", detail::line_sample},
                                                 {"active before it", "kept", detail::area_sample},
                                                 {"highest peak", "peak", detail::line_sample}};
  detail::svg_chart chart{detail::title_or(title, "Memory against rank"), note,
                          "Memory against rank: " + note + ". Across: nodes by rank; up: bytes.", 32'000, legend};
  chart.axes(detail::rank_axis(first, count), detail::memory_axis(most), false);
  detail::svg_path held, kept;
  kept.move(chart.across(0, count), chart.bottom());
  for (std::size_t k = 0; k < stats.nodes.size() - first; ++k) {
    auto const& node = stats.nodes[first + k];
    detail::hundredths const end = chart.across(k + 1, count),
                             peak = chart.up(detail::bytes_above_zero(node.median_peak_mem_bytes), most);
    kept.down(chart.up(detail::bytes_above_zero(node.median_active_mem_bytes), most)).across(end);
    if (k == 0) held.move(chart.across(0, count), peak);
    held.down(peak).across(end);
  }
  kept.down(chart.bottom()).close();
  chart.open_group("marks");
  chart.draw("kept", kept);
  chart.draw("held", held, stats.nodes.size() > 1'000 ? 80 : 0);
  if (!stats.nodes.empty()) {
    detail::hundredths const top = chart.up(most, most);
    chart.draw("peak", detail::svg_path{}.move(chart.left(), top).across(chart.right()));
    if (summit >= first)
      chart.draw("summit", detail::svg_path{}.move(chart.across(2 * (summit - first) + 1, 2 * count), top).ring(350));
  }
  chart.close_group();
  return std::move(chart).finish();
}

CAIRN_DECL std::string breakdown_svg(peak_breakdown const& found, std::string_view title) {
  std::vector<std::string> names;
  std::vector<node_type> types;
  wide most = 0;
  for (node_type const type : detail::all_node_types) {
    if (found[type] <= 0) continue;
    types.push_back(type);
    names.emplace_back(word_of(type));
    most = (std::max)(most, wide(found[type]));
  }
  detail::axis const y = detail::memory_axis(most);
  std::string const note =
      "peak " + exact_bytes_text(found.peak) + " at rank " + std::to_string(found.rank) + "; " + y.name;
  detail::svg_chart chart{detail::title_or(title, "What the highest peak is made of"), note,
                          "What the highest peak is made of: " + note + ". A bar for each type.", 32'000, {}};
  detail::draw_named_axes(chart, names, "type", y);
  chart.open_group("marks");
  for (std::size_t k = 0; k < types.size(); ++k) {
    detail::hundredths const x = chart.across(2 * k + 1, 2 * types.size()), top = chart.up(wide(found[types[k]]), most);
    detail::draw_bar(chart, detail::colour_of(types[k]), x, chart.bottom(), top,
                     detail::bar_width(chart, types.size()));
    chart.write("", "middle", x, top - 500, detail::bytes_text(wide(found[types[k]])));
  }
  chart.close_group();
  return std::move(chart).finish();
}

CAIRN_DECL std::string batch_peak_svg(std::span<batch_stats const> batches, std::string_view title) {
  wide most = 0;
  for (auto const& one : batches) most = (std::max)(most, detail::bytes_above_zero(one.peak_bytes));
  return detail::batch_bars(batches, detail::title_or(title, "Peak memory of a step by batch"),
                            detail::memory_axis(most), {},
                            [&](detail::svg_chart& chart, batch_stats const& one, auto x, auto wide_as) {
                              auto const bytes = detail::bytes_above_zero(one.peak_bytes);
                              auto const top = chart.up(bytes, most);
                              detail::draw_bar(chart, "advance", x, chart.bottom(), top, wide_as);
                              chart.write("", "middle", x, top - 500, detail::bytes_text(bytes));
                            });
}

CAIRN_DECL std::string batch_latency_svg(std::span<batch_stats const> batches, std::string_view title) {
  wide most = 0;
  for (auto const& one : batches) most = (std::max)(most, detail::nanoseconds_in(one.latency_s));
  return detail::batch_bars(batches, detail::title_or(title, "Time of a step by batch"), detail::duration_axis(most),
                            {},
                            [&](detail::svg_chart& chart, batch_stats const& one, auto x, auto wide_as) {
                              auto const top = chart.up(detail::nanoseconds_in(one.latency_s), most);
                              detail::draw_bar(chart, "reverse", x, chart.bottom(), top, wide_as);
                              chart.write("", "middle", x, top - 500, detail::seconds_text(one.latency_s));
                            });
}

CAIRN_DECL std::string batch_breakdown_svg(std::span<batch_stats const> batches, std::string_view title) {
  wide most = 0;
  for (auto const& one : batches) most = (std::max)(most, detail::bytes_above_zero(one.breakdown.peak));
  std::vector<detail::legend_entry> legend;
  for (node_type const type : detail::all_node_types)
    legend.push_back({std::string{word_of(type)}, std::string{detail::colour_of(type)}, detail::line_sample});
  auto const draw = [&](detail::svg_chart& chart, batch_stats const& one, auto x, auto wide_as) {
    wide below = 0;
    for (node_type const type : detail::all_node_types) {
      wide const above = below + detail::bytes_above_zero(one.breakdown[type]);
      detail::draw_bar(chart, detail::colour_of(type), x, chart.up(below, most), chart.up(above, most), wide_as);
      below = above;
    }
  };
  return detail::batch_bars(batches, detail::title_or(title, "What the highest peak is made of, by batch"),
                            detail::memory_axis(most), legend, draw);
}

CAIRN_DECL std::string batch_memory_svg(std::span<batch_stats const> batches, std::string_view title) {
  wide most = 0, count = 0;
  std::size_t first = 0;
  for (auto const& one : batches) {
    first = detail::first_run(one.stats);
    count = (std::max)(count, wide(one.stats.nodes.size() - first));
    for (auto const& node : one.stats.nodes)
      most = (std::max)(most, detail::bytes_above_zero(node.median_peak_mem_bytes));
  }
  std::vector<std::string> names;
  for (auto const& one : batches) names.push_back("batch " + std::to_string(one.batch));
  std::vector<detail::legend_entry> legend;
  for (std::size_t k = 0; k < names.size(); ++k)
    legend.push_back({names[k], std::string{detail::series_colours[k % std::size(detail::series_colours)]},
                      detail::line_sample});
  std::string_view const heading = detail::title_or(title, "Memory against rank, by batch");
  std::string const note = "at most " + detail::bytes_text(most);
  std::string const told = std::string{heading} + ": " + note + ". Across: nodes by rank.";
  detail::svg_chart chart{heading, note, told, 32'000, legend};
  chart.axes(detail::rank_axis(first, count), detail::memory_axis(most), false);
  chart.open_group("marks");
  for (std::size_t b = 0; b < batches.size(); ++b) {
    auto const& nodes = batches[b].stats.nodes;
    detail::svg_path line;
    std::size_t const begin = detail::first_run(batches[b].stats);
    for (std::size_t k = 0; k < nodes.size() - begin; ++k) {
      auto const high = chart.up(detail::bytes_above_zero(nodes[begin + k].median_peak_mem_bytes), most);
      if (k == 0) line.move(chart.across(0, count), high);
      line.down(high).across(chart.across(k + 1, count));
    }
    chart.draw(detail::series_colours[b % std::size(detail::series_colours)], line, 120);
  }
  chart.close_group();
  return std::move(chart).finish();
}

}  // namespace cairn
