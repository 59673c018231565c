// SPDX-License-Identifier: Apache-2.0
#pragma once
// The actions that a line of `chain_words` stands for, for plans of oracles and for round trips.
#include <cstdint>
#include <set>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

#include <cairn/rules/chain.hpp>

inline std::vector<cairn::action> read_chain_words(std::string const& line) {
  using namespace cairn;
  using namespace chain_actions;
  std::vector<action> actions;
  std::set<step_index> states;  // that are kept as well as tapes
  auto const add = [&](action const& a) {
    actions.push_back(a);
    if (a.kind == action_kind::advance) states.insert(a.to);
    else if (a.kind == action_kind::record || a.kind == action_kind::reverse) states.erase(a.to);
    else if (a.kind == action_kind::load) states.insert(a.from);
    else if (a.kind == action_kind::turn || a == drop(a.from)) states.erase(a.from);
  };
  std::istringstream words{line};
  for (std::string word; words >> word;) {
    auto const digits = word.find_first_of("0123456789"), colon = word.find(':');
    std::string const name = word.substr(0, digits), place = colon == word.npos ? "" : word.substr(colon + 1);
    step_index const i = std::stoll(word.substr(digits));
    tier const where = place == "device" ? tier::device
                       : place == "host" ? tier::host
                       : place == "disk" ? tier::disk
                                         : tier::memory;
    if (name == "Fck" || name == "Fn") add(advance(i));
    else if (name == "Fall") add(record(i));
    else if (name == "Loss") add(turn(i));
    else if (name == "B" || name == "Bck") add(reverse(i));
    else if (name == "Drop") add(drop(i, where));
    else if (name == "DropTape") add(drop_tape(i));
    else if (name == "Save") add(save(i, where));
    else if (name == "Load") add(load(i, where));
    else throw std::invalid_argument{word};
    if ((name == "Fn" || name == "B") && i > 0 && states.contains(i)) add(drop(i));
  }
  return actions;
}
