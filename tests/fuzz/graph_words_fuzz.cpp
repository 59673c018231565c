// SPDX-License-Identifier: Apache-2.0
// The words of a plan for a graph: a line is refused, or it is actions whose words mean the same again.
#include <string>
#include <vector>

#include <cairn/plan/text/graph_words.hpp>

#include "fuzz.hpp"

extern "C" int LLVMFuzzerTestOneInput(std::uint8_t const* data, std::size_t size) {
  std::string const line{fuzz::text_of(data, size)};
  std::vector<cairn::action> actions;
  if (fuzz::refuses<cairn::parse_error>([&] { actions = cairn::read_graph_words(line); })) return 0;
  std::string const words = cairn::graph_words(actions);
  fuzz::require(cairn::read_graph_words(words) == actions, "actions are read back from their words");
  fuzz::require(fuzz::refuses<cairn::parse_error>([&] { (void)cairn::read_graph_words(line + " !"); }),
                "no line is read in part");
  return 0;
}
