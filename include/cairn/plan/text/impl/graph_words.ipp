// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstddef>
#include <cstdint>
#include <limits>
#include <cairn/core/error.hpp>
#include <cairn/plan/text/detail/words.hpp>
#include <cairn/plan/text/graph_words.hpp>

namespace cairn {
namespace detail {

struct graph_word {
  std::string_view word;
  action (*make)(step_index);
};
inline constexpr graph_word all_graph_words[]{
    {"F", graph_actions::advance}, {"R", graph_actions::record},  {"Drop", graph_actions::drop},
    {"DropTape", graph_actions::drop_tape}, {"Loss", graph_actions::turn}, {"B", graph_actions::reverse}};

}  // namespace detail

CAIRN_DECL std::string graph_words(std::span<action const> actions) {
  std::string line;
  for (action const& a : actions)
    for (auto const& one : detail::all_graph_words)
      if (one.make(a.from) == a) {
        if (!line.empty()) line += ' ';
        line.append(one.word).append(std::to_string(a.from));
      }
  return line;
}

CAIRN_DECL std::vector<action> read_graph_words(std::string_view line) {
  constexpr char const* who = "cairn::read_graph_words";
  constexpr std::int64_t most_operation = (std::numeric_limits<std::int32_t>::max)();
  std::vector<action> actions;
  for (std::size_t count = 0;; ++count) {
    auto const whole = detail::next_word(line);
    if (whole.empty()) return actions;
    auto const name = whole.substr(0, whole.find_first_of("0123456789")), digits = whole.substr(name.size());
    detail::graph_word const* found = nullptr;
    for (auto const& one : detail::all_graph_words)
      if (one.word == name) found = &one;
    if (!found)
      throw parse_error{who,
                        "no such action of a graph",
                        {{"word", count}},
                        "words are F, R, Drop, DropTape, Loss and B followed by a number, as in F0"};
    auto const operation = detail::whole_number(digits, most_operation);
    if (!operation)
      throw parse_error{who,
                        "an action of a graph lacks the number of its operation",
                        {{"word", count}},
                        "write the number after the word, as in F0"};
    actions.push_back(found->make(*operation));
  }
}

}  // namespace cairn
