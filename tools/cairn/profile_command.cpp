// SPDX-License-Identifier: Apache-2.0
#include "profile_command.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <numeric>
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

}  // namespace

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
  profile.plot_stats(into);
  return report_of_nodes(profile.stats().nodes) + "\ntables and pictures: " + into + "/" +
         std::string{cairn::profile_prefix} + "_*\n";
}

}  // namespace tool
