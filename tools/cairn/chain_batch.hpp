#pragma once
/// \file chain_batch.hpp  Chains to plan, one request a line, one answer a line.
#include <iosfwd>

namespace tool {

/// As `answer_lines`, of requests {"chain":{...},"memory":BYTES,...} of up to `longest_chain_text` characters, whose memory does not count state 0.
/// Where the memory is too small the answer holds `least_feasible_memory` beside the error.
void answer_chain_lines(std::istream& from, std::ostream& to);

}  // namespace tool
