// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file asked_chain.hpp  A request for a plan for a chain: the same words on the command line and in a line of JSON.
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <cairn/plan/chain/chain_planner.hpp>
#include "keys.hpp"

namespace tool {

class deadline_timer;

struct asked_chain {
  std::optional<std::int64_t> memory;  ///< bytes
  std::optional<std::int64_t> time;    ///< in the chain's unit
  std::optional<double> time_limit;    ///< in seconds, infinite for no limit; usual_time_limit if not given
  deadline_timer* deadline = nullptr;  ///< of the current answer; must outlive it. If there is none, a new one is made
  cairn::chain_options options;
};

/// The longest text of a chain, as a file or a line: enough for chains of some million stages.
inline constexpr std::size_t longest_chain_text = std::size_t{64} << 20;

using chain_key = key_of<asked_chain>;

[[nodiscard]] std::span<chain_key const> chain_keys() noexcept;

/// \throws wrong_request   for an unknown key, and for a text that is not a value of the key
void set(asked_chain& asked, std::string_view name, std::string_view text);

/// \throws wrong_request   if both memory and time are given
void refuse_two_budgets(asked_chain const& asked);

}  // namespace tool
