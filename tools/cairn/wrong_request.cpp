// SPDX-License-Identifier: Apache-2.0
#include "wrong_request.hpp"

#include <algorithm>
#include <utility>

#include "keys.hpp"

namespace tool {
namespace {

/// Names of the library in its messages, and what stands for them here.
constexpr std::pair<std::string_view, std::string_view> words[] = {
    {"`gunzip_trace` or gunzip", "gunzip"},
    {"; cairn::why_infeasible says what they are for", ""},
    {"; chain_planner::why_infeasible says what they are for", ""},
    {"plan by chain_method::automatic", "take $planner auto"},
    {"allow more by chain_options::limit", "give a longer $time_limit"},
    {"allow more by planning_options::limit, or ", ""},
    {"allow more by most_table_bytes, or ", ""},
    {"cairn::revolve needs", "$schedule revolve needs"},
    {"that save_stats_to_csv wrote", "that cairn profile wrote"},
    {", or a budget to cairn::plan_within", ", or $memory"},
};

}  // namespace

std::string message_of(cairn::error const& problem) {
  std::string_view const all = problem.what(), who = problem.operation();
  std::string text{all.starts_with(who) ? all.substr(std::min(all.size(), who.size() + 2)) : all};
  for (auto const& [from, to] : words)
    if (auto const at = text.find(from); at != text.npos) text.replace(at, from.size(), worded(to));
  return text;
}

}  // namespace tool
