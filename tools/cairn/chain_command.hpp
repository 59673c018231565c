// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file chain_command.hpp  Plans a chain from a file, or lists its plans over all budgets.
#include <iosfwd>
#include <string>
#include "asked_chain.hpp"

namespace tool {

/// Where and in which form the answer is written.
struct chain_outputs {
  bool json = false, csv = false, actions = false, pareto = false;
  std::string points, svg, pareto_svg, title;
};

/// Answers for the chain in `file`, or in standard input for "-". The requested memory includes state 0.
/// \throws wrong_request, cairn::error   for text that is not a chain, for options that exclude each other, and for a
///   budget that is too small, with the least feasible one
void answer_chain(std::ostream& to, std::string const& file, asked_chain asked, chain_outputs const& wanted);

}  // namespace tool
