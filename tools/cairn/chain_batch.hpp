// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file chain_batch.hpp  Answers requests for plans of chains, line by line.
#include <iosfwd>
#include <optional>
#include <string>
#include <cairn/rules/chain.hpp>
#include "asked_chain.hpp"

namespace tool {

/// Like `answer_lines`, for requests {"chain":{...},"memory":BYTES,...} of up to `longest_chain_text` characters, whose
/// memory does not include state 0. If the memory is too small, the answer holds `least_feasible_memory` beside the
/// error.
/// \param time_limit  seconds that all lines may take together
void answer_chain_lines(std::istream& from, std::ostream& to, std::optional<double> time_limit = std::nullopt);

/// A chain, with the request for its plan.
struct chain_request {
  cairn::chain work;
  asked_chain how;
};
/// The request on a line; empty if it cannot be read.
[[nodiscard]] std::optional<chain_request> read_chain_request(std::string const& line);

}  // namespace tool
