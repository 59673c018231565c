#pragma once
/// \file chain_batch.hpp  Chains to plan, one request a line, one answer a line.
#include <iosfwd>
#include <optional>
#include <string>
#include <cairn/core/chain.hpp>
#include "asked_chain.hpp"

namespace tool {

/// As `answer_lines`, of requests {"chain":{...},"memory":BYTES,...} of up to `longest_chain_text` characters, whose
/// memory does not count state 0. Where the memory is too small the answer holds `least_feasible_memory` beside the
/// error.
void answer_chain_lines(std::istream& from, std::ostream& to);

/// A chain, and how it is to be planned.
struct chain_request {
  cairn::chain work;
  asked_chain how;
};
/// What a line asks for; nothing where it cannot be read.
[[nodiscard]] std::optional<chain_request> read_chain_request(std::string const& line);

}  // namespace tool
