// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>
#include <cairn/core/error.hpp>
#include <cairn/plan/text/action_words.hpp>
#include <cairn/plan/text/chain_words.hpp>
#include <cairn/plan/text/detail/words.hpp>
#include <cairn/rules/chain.hpp>
#include <cairn/rules/detail/chain_walk.hpp>

namespace cairn {
namespace detail {

// Tracks which states are kept as well as tapes, action by action. Not a `chain_walk`, which takes one byte per stage:
// words may name any stage.
class states_beside_tapes {
 public:
  [[nodiscard]] bool holds(step_index i) const { return i > 0 && states_.contains(i); }
  void obey(action const& a) {
    if (runs_stage(a) || a.kind == action_kind::reverse) set(a.to, a.kind == action_kind::advance);
    else if (a.kind == action_kind::load) set(a.from, true);
    else if (a.kind == action_kind::turn || drops_state(a)) set(a.from, false);
  }

 private:
  void set(step_index i, bool kept) {
    if (kept) states_.insert(i);
    else states_.erase(i);
  }
  std::unordered_set<step_index> states_;
};

}  // namespace detail

CAIRN_DECL std::string chain_words(std::span<action const> actions) {
  using enum action_kind;
  detail::states_beside_tapes states;
  std::string line;
  for (std::size_t k = 0; k < actions.size(); ++k) {
    action const& a = actions[k];
    bool const forgets =
        states.holds(a.from) && k + 1 < actions.size() && actions[k + 1] == chain_actions::drop(a.from);
    bool const joined = forgets && (a.kind == advance || a.kind == reverse);
    char const* word = "";
    switch (a.kind) {
      case advance: word = joined ? "Fn" : "Fck"; break;
      case record: word = "Fall"; break;
      case drop: word = a.what == content::tape ? "DropTape" : "Drop"; break;
      case turn: word = "Loss"; break;
      case reverse: word = !joined && states.holds(a.from) ? "Bck" : "B"; break;
      case save: word = "Save"; break;
      case load: word = "Load"; break;
      case done: break;
    }
    if (!line.empty()) line += ' ';
    line.append(word).append(std::to_string(a.from));
    if (a.where != tier::memory) line.append(":").append(word_of(a.where));
    states.obey(a);
    if (joined) states.obey(actions[++k]);
  }
  return line;
}

namespace detail {

// A word of a line, taken apart.
struct chain_word {
  std::string_view name, digits, tier_word;
  bool names_tier = false;
};
inline chain_word chain_word_of(std::string_view whole) {
  auto const colon = whole.find(':');
  auto const before = whole.substr(0, colon), name = before.substr(0, before.find_first_of("0123456789"));
  bool const names_tier = colon != whole.npos;
  return {name, before.substr(name.size()), names_tier ? whole.substr(colon + 1) : std::string_view{}, names_tier};
}

}  // namespace detail

CAIRN_DECL std::vector<action> read_chain_words(std::string_view line) {
  constexpr char const* who = "cairn::read_chain_words";
  constexpr std::int64_t most_stage = (std::numeric_limits<std::int32_t>::max)();
  struct meaning {
    std::string_view word;
    action (*make)(step_index, tier);
    bool forgets;  ///< whether the word also frees state i
  };
  constexpr auto run = [](step_index i, tier) { return chain_actions::advance(i); };
  constexpr auto adjoint = [](step_index i, tier) { return chain_actions::reverse(i); };
  constexpr meaning meanings[]{{"Fck", run, false},
                               {"Fn", run, true},
                               {"Fall", [](step_index i, tier) { return chain_actions::record(i); }, false},
                               {"Loss", [](step_index i, tier) { return chain_actions::turn(i); }, false},
                               {"B", adjoint, true},
                               {"Bck", adjoint, false},
                               {"Drop", chain_actions::drop, false},
                               {"DropTape", [](step_index i, tier) { return chain_actions::drop_tape(i); }, false},
                               {"Save", chain_actions::save, false},
                               {"Load", chain_actions::load, false}};
  detail::states_beside_tapes states;
  std::vector<action> actions;
  auto const add = [&](action const& a) {
    actions.push_back(a);
    states.obey(a);
  };
  for (std::size_t count = 0;; ++count) {
    auto const whole = detail::next_word(line);
    if (whole.empty()) return actions;
    auto const [name, digits, tier_word, named] = detail::chain_word_of(whole);
    meaning const* found = nullptr;
    for (auto const& one : meanings)
      if (one.word == name) found = &one;
    if (!found)
      throw parse_error{
          who,
          "no such action of a chain",
          {{"word", count}},
          "words are Fck, Fn, Fall, Loss, B, Bck, Drop, DropTape, Save and Load followed by a number, as in Fck0"};
    auto const stage = detail::whole_number(digits, most_stage);
    if (!stage)
      throw parse_error{who,
                        "an action of a chain lacks the number of its stage",
                        {{"word", count}},
                        "write the number after the word, as in Fck0"};
    auto const where =
        tier_word.empty() ? std::optional{tier::memory} : detail::value_in<tier>(detail::tier_words, tier_word);
    action const made = found->make(*stage, where.value_or(tier::memory));
    bool const moves = made.kind == action_kind::save || made.kind == action_kind::load;
    if (!where || made.where != *where || named != (*where != tier::memory) || (moves && !named))
      throw parse_error{
          who,
          "an action of a chain names no place, or a wrong one",
          {{"word", count}},
          "saves, loads and drops elsewhere name device, host or disk, as in Save3:disk; others name none"};
    add(made);
    if (found->forgets && states.holds(*stage)) add(chain_actions::drop(*stage));
  }
}

}  // namespace cairn
