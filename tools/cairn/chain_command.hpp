#pragma once
/// \file chain_command.hpp  A chain from a file: its plan, or what memory buys.
#include <iosfwd>
#include <string>
#include "asked_chain.hpp"

namespace tool {

/// Where and how the answer is written.
struct chain_outputs {
  bool json = false, csv = false, actions = false, pareto = false;
  std::string points, svg, pareto_svg;
};

/// Answers for the chain in `file`, - for standard input. The memory that is asked for counts state 0.
/// \throws wrong_request, cairn::error   for what is no chain, what does not go together, and a budget that is too
/// small, with the least that would do
void answer_chain(std::ostream& to, std::string const& file, asked_chain asked, chain_outputs const& wanted);

}  // namespace tool
