// SPDX-License-Identifier: Apache-2.0
#include "profile_command.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <numeric>
#include <system_error>
#include <utility>
#include <vector>

#include <cairn/adapt/nlohmann_json/chain.hpp>
#include <cairn/adapt/nlohmann_json/graph.hpp>
#include <cairn/profile/profile_csv.hpp>
#include <cairn/profile/profiled_sweep.hpp>

#include "files.hpp"
#include "keys.hpp"
#include "numbers.hpp"
#include "outer_members.hpp"
#include "picture/profile.hpp"
#include "records.hpp"
#include "wrong_request.hpp"

namespace tool {
namespace {

constexpr std::size_t most_rows = 10;

/// A profile of what was measured elsewhere.
struct read_profile : cairn::profiled_sweep {
  explicit read_profile(cairn::operation_graph graph) { found(cairn::profiled_graph{std::move(graph)}); }
  explicit read_profile(cairn::chain stages) { found(std::move(stages)); }
};

[[nodiscard]] std::string exact(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.17g", value);
  return text;
}
/// The first `most_rows` of the rows with the largest numbers.
template <class Row, class Size>
[[nodiscard]] std::vector<Row> largest(std::vector<Row> all, Size size) {
  std::stable_sort(all.begin(), all.end(), [&](Row const& a, Row const& b) { return size(a) > size(b); });
  if (all.size() > most_rows) all.resize(most_rows);
  return all;
}

[[nodiscard]] std::string report_of_nodes(std::vector<cairn::node_stats> const& nodes) {
  records parts{{"gtype", "nodes", "time_s", "share_%"}, {}};
  std::array<double, 3> seconds{};
  std::array<std::size_t, 3> counts{};
  for (auto const& node : nodes) {
    seconds[std::size_t(node.gtype)] += node.median_run_time_s;
    ++counts[std::size_t(node.gtype)];
  }
  double const all = std::accumulate(seconds.begin(), seconds.end(), 0.0);
  for (auto const type : {cairn::graph_type::forward, cairn::graph_type::backward, cairn::graph_type::other}) {
    auto const k = std::size_t(type);
    parts.rows.push_back({std::string{word_of(type)}, std::to_string(counts[k]), exact(seconds[k]),
                          exact(all > 0 ? 100 * seconds[k] / all : 0)});
  }
  std::string text = "a profile of " + counted(nodes.size(), "node") + ", " + readable("time_s", exact(all)) + "\n\n" +
                     aligned(parts);
  if (nodes.empty()) return text;
  auto const peak = std::max_element(nodes.begin(), nodes.end(), [](auto const& a, auto const& b) {
    return a.median_peak_mem_bytes < b.median_peak_mem_bytes;
  });
  text += "\nmost memory: " + readable("bytes", std::to_string(peak->median_peak_mem_bytes)) + " at rank " +
          std::to_string(peak->rank) + ", " + plain(peak->node_name) + "\n\n";
  records slow{{"rank", "slowest_node", "node_type", "time_s", "share_%"}, {}};
  for (auto const& node : largest(nodes, [](auto const& one) { return one.median_run_time_s; }))
    slow.rows.push_back({std::to_string(node.rank), node.node_name, std::string{word_of(node.type)},
                         exact(node.median_run_time_s), exact(all > 0 ? 100 * node.median_run_time_s / all : 0)});
  records large{{"rank", "node_that_takes_most", "node_type", "taken_bytes", "peak_bytes"}, {}};
  auto const taken = [](auto const& one) { return one.median_peak_mem_bytes - one.median_active_mem_bytes; };
  for (auto const& node : largest(nodes, taken))
    large.rows.push_back({std::to_string(node.rank), node.node_name, std::string{word_of(node.type)},
                          std::to_string(taken(node)), std::to_string(node.median_peak_mem_bytes)});
  return text + aligned(slow) + '\n' + aligned(large);
}

[[nodiscard]] std::string report_of_activations(std::vector<cairn::activation_stats> const& all) {
  cairn::wide bytes = 0;
  for (auto const& one : all) bytes += cairn::wide(one.median_mem_size_bytes);
  records idle{{"activation_that_lies_idle", "size_bytes", "inactive_s", "recomp_s", "recomp_bytes"}, {}};
  auto const weight = [](auto const& one) { return double(one.median_mem_size_bytes) * one.inactive_time_s; };
  for (auto const& one : largest(all, weight))
    idle.rows.push_back({one.activation_name, std::to_string(one.median_mem_size_bytes), exact(one.inactive_time_s),
                         exact(one.recomp_time_s), std::to_string(one.recomp_memory_bytes)});
  return counted(all.size(), "activation") + ", " + readable("bytes", digits(bytes)) +
         " in all; first those with the most bytes for the longest time\n\n" + aligned(idle);
}

constexpr std::string_view nodes_end = "_node_stats.csv", batches_end = "_batches.csv";

/// Draws one profile into PREFIX_run_time.svg and others.
void draw(cairn::profile_stats const& stats, std::string const& prefix) {
  write_file(prefix + "_run_time.svg", picture::run_time_svg(stats));
  write_file(prefix + "_node_memory.svg", picture::node_memory_svg(stats));
  write_file(prefix + "_memory.svg", picture::rank_memory_svg(stats));
  if (!stats.activations.empty())  // those of loops have none
    write_file(prefix + "_breakdown.svg", picture::breakdown_svg(cairn::breakdown_of(stats)));
}

/// A table of batches beside the profile of each.
void draw_batches(std::filesystem::path const& folder, std::string const& prefix) {
  std::string const name = (folder / (prefix + std::string{batches_end})).string();
  auto const table = read_csv(read_file(name, longest_text), name);
  std::vector<picture::batch_stats> batches;
  for (auto const& row : table.rows) {
    auto const cell = [&](std::string_view column) -> std::string const& {
      auto const at = std::find(table.columns.begin(), table.columns.end(), column);
      if (at == table.columns.end())
        throw wrong_request{tool::quoted(name) + " has no column " + std::string{column} + "; give a table of batches"};
      return row[std::size_t(at - table.columns.begin())];
    };
    picture::batch_stats one;
    one.batch = count_of("batch", cell("batch"), 1);
    one.latency_s = number_of("latency_s", cell("latency_s"));
    one.peak_bytes = count_of("counted_peak_bytes", cell("counted_peak_bytes"), 0);
    for (std::size_t type = 0; type < one.breakdown.bytes.size(); ++type) {
      std::string const column = std::string{word_of(cairn::node_type(type))} + "_bytes";
      one.breakdown.bytes[type] = count_of(column, cell(column), 0);
    }
    one.stats = cairn::read_stats_csv(folder, prefix + "_batch_" + cell("batch"));
    batches.push_back(std::move(one));
  }
  auto const at = (folder / prefix).string();
  write_file(at + "_batch_peak_and_time.svg", picture::batch_svg(batches));
  write_file(at + "_batch_breakdown.svg", picture::batch_breakdown_svg(batches));
  write_file(at + "_batch_memory.svg", picture::batch_memory_svg(batches));
}

}  // namespace

std::string profile_pictures_of(std::string const& folder) {
  std::error_code problem;
  std::vector<std::string> profiles, batches;
  for (auto const& one : std::filesystem::directory_iterator{folder, problem}) {
    std::string const name = one.path().filename().string();
    auto const add = [&](std::vector<std::string>& to, std::string_view ending) {
      if (name.ends_with(ending)) to.push_back(name.substr(0, name.size() - ending.size()));
    };
    add(profiles, nodes_end);
    add(batches, batches_end);
  }
  if (problem || profiles.empty())
    throw wrong_request{tool::quoted(folder) + " holds no table of nodes, whose name ends with " + std::string{nodes_end} +
                        "; give the folder of a profile"};
  for (auto const& prefix : profiles)
    draw(cairn::read_stats_csv(folder, prefix), (std::filesystem::path{folder} / prefix).string());
  for (auto const& prefix : batches) draw_batches(folder, prefix);
  return "pictures of " + counted(profiles.size(), "profile") + " and " + counted(batches.size(), "table") +
         " of batches: " + folder + "\n";
}

std::optional<std::string> report_of_profile(std::string_view table) {
  auto const begins = [&](std::string_view columns) {
    return table.starts_with(columns) && table.substr(columns.size(), 1).find_first_of("\r\n") == 0;
  };
  std::string const no_nodes = std::string{cairn::node_stats_columns} + '\n',
                    no_activations = std::string{cairn::activation_stats_columns} + '\n';
  if (begins(cairn::node_stats_columns)) return report_of_nodes(cairn::read_profile_csv(table, no_activations).nodes);
  if (begins(cairn::activation_stats_columns))
    return report_of_activations(cairn::read_profile_csv(no_nodes, table).activations);
  return std::nullopt;
}

std::string profile_files_of(std::string const& file, std::string const& folder) {
  if (file.empty())
    throw wrong_request{"nothing is given to profile; give a graph or a chain as in cairn profile FILE.json, - for "
                        "standard input"};
  std::string const text = read_file(file, longest_text), into = folder.empty() ? "." : folder;
  bool const graph = has_member(text, "operations") || has_member(text, "graph");
  read_profile const profile =
      graph ? read_profile{cairn::read_graph_json(text)} : read_profile{cairn::read_chain_json(text)};
  profile.save_stats_to_csv(into);
  draw(profile.stats(), (std::filesystem::path{into} / cairn::profile_prefix).string());
  return report_of_nodes(profile.stats().nodes) + "\ntables and pictures: " + into + "/" +
         std::string{cairn::profile_prefix} + "_*\n";
}

}  // namespace tool
