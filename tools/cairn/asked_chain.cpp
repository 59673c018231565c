// SPDX-License-Identifier: Apache-2.0
#include "asked_chain.hpp"

#include <algorithm>
#include <limits>
#include <string>

#include "wrong_request.hpp"

namespace tool {
namespace {

cairn::chain_method method_of(std::string_view name, std::string_view text) {
  using enum cairn::chain_method;
  constexpr cairn::chain_method all[]{automatic, persistent, slots, non_persistent, revolve,
                                      store_all, sqrt,  greedy,         single_level};
  std::string known;
  for (auto const& by : all) {
    if (text == cairn::name_of(by)) return by;
    known.append(known.empty() ? "" : &by == std::end(all) - 1 ? " or " : ", ").append(cairn::name_of(by));
  }
  refuse_value(
      name, text,
      known +
          (text == cairn::name_of(tiers) ? "; places beside memory are for programs" : ""));
}

/// No chain has more than 2^62 bytes, so all sizes of 2^63 and more mean the same.
std::int64_t budget_of(std::string_view name, std::string_view text) {
  return std::int64_t(
      std::min<std::uint64_t>(size_of(name, text).count(), std::uint64_t(std::numeric_limits<std::int64_t>::max())));
}

constexpr chain_key keys[] = {
    {"memory", "BYTES", "budget, e.g. 4GB, state 0 included: the fastest plan within it",
     [](asked_chain& a, auto name, auto text) { a.memory = budget_of(name, text); }},
    {"time", "T", "budget of time in the chain's unit: the smallest plan within it",
     [](asked_chain& a, auto name, auto text) { a.time = count_of(name, text, 0); }},
    {"planner", "NAME",
     "auto (the default), persistent, slots, non_persistent, revolve, store_all, sqrt, greedy or "
     "single_level",
     [](asked_chain& a, auto name, auto text) { a.options.by = method_of(name, text); }},
    {"gap", "G", "auto: how far above what is proven to be the least a plan may be (0.01)",
     [](asked_chain& a, auto name, auto text) { a.options.gap = number_of(name, text); }},
    {"slots", "K", "planners with slots: how many (chosen)",
     [](asked_chain& a, auto name, auto text) { a.options.slots = count_of(name, text, 1); }},
    {"time_limit", "SECONDS", "that the answer may take, or unlimited (60): then the best plan that is found",
     [](asked_chain& a, auto name, auto text) { a.time_limit = seconds_of(name, text); }},
};

}  // namespace

std::span<chain_key const> chain_keys() noexcept { return keys; }

void set(asked_chain& asked, std::string_view name, std::string_view text) {
  std::string known;
  for (auto const& key : keys) {
    if (key.name == name) return key.set(asked, name, text);
    known.append(key.name).append(", ");
  }
  throw wrong_request{quoted(name) + " is not a key of a request for a chain; there are chain, " + known + "and id"};
}

void refuse_two_budgets(asked_chain const& asked) {
  if (asked.memory && asked.time) throw wrong_request{worded("$memory and $time are both given; give one of them")};
}

}  // namespace tool
