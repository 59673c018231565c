// SPDX-License-Identifier: Apache-2.0
// Graphs as JSON: a text is refused, or it is a graph that is read back from what it is written as.
#include <string>

#include <cairn/adapt/nlohmann_json/graph.hpp>

#include "fuzz.hpp"

extern "C" int LLVMFuzzerTestOneInput(std::uint8_t const* data, std::size_t size) {
  std::string const text{fuzz::text_of(data, size)};
  (void)fuzz::refuses<cairn::parse_error>([&] { (void)cairn::read_graph_plan_json(text); });
  cairn::operation_graph graph;
  if (fuzz::refuses<cairn::parse_error, cairn::invalid_plan, cairn::overflow_error>(
          [&] { graph = cairn::read_graph_json(text); }))
    return 0;
  fuzz::require(cairn::read_graph_json(cairn::graph_json(graph).dump()) == graph, "a graph is read back from its JSON");
  fuzz::require(fuzz::refuses<cairn::parse_error>([&] { (void)cairn::read_graph_json(text + "!"); }),
                "no text is read in part");
  return 0;
}
