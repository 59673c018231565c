// SPDX-License-Identifier: Apache-2.0
// The two tables of a profile, with a line of % between them: they are refused, or they are a profile that is read back
// from what it is written as; and so is the graph in them.
#include <string>
#include <string_view>

#include <cairn/profile/profile_csv.hpp>
#include <cairn/profile/profile_of.hpp>

#include "fuzz.hpp"

extern "C" int LLVMFuzzerTestOneInput(std::uint8_t const* data, std::size_t size) {
  std::string const text{fuzz::text_of(data, size)};
  std::size_t const between = text.find("%\n");
  std::string const nodes = text.substr(0, between), activations = between == text.npos ? "" : text.substr(between + 2);
  cairn::profile_stats stats;
  if (fuzz::refuses<cairn::parse_error>([&] { stats = cairn::read_profile_csv(nodes, activations); })) return 0;
  fuzz::require(cairn::read_profile_csv(cairn::node_stats_csv(stats), cairn::activation_stats_csv(stats)) == stats,
                "a profile is read back from its tables");
  cairn::operation_graph graph;
  (void)fuzz::refuses<cairn::parse_error, cairn::invalid_plan, cairn::overflow_error>(
      [&] { (void)cairn::chain_of(stats); });
  if (fuzz::refuses<cairn::parse_error, cairn::invalid_plan, cairn::overflow_error>(
          [&] { graph = cairn::graph_of(stats); }))
    return 0;
  (void)cairn::breakdown_of(stats);
  auto const again = cairn::profile_of({.graph = graph});
  cairn::operation_graph read;
  if (fuzz::refuses<cairn::overflow_error>([&] { read = cairn::graph_of(again); })) return 0;
  fuzz::require(read == graph, "a graph is read back from its profile");
  return 0;
}
