// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstddef>
#include <unordered_set>
#include <cairn/plan/text/action_words.hpp>
#include <cairn/plan/text/chain_words.hpp>
#include <cairn/rules/chain.hpp>

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

}  // namespace cairn
