// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file read_actions.hpp  What the readers of action files share: they get a plan's numbers and actions as texts and
/// parse them.
#include <cstddef>
#include <limits>
#include <string_view>
#include <vector>
#include <cairn/core/action.hpp>
#include <cairn/core/error.hpp>
#include <cairn/plan/text/action_words.hpp>
#include <cairn/schedule/action_list.hpp>

namespace cairn::detail {

/// The reader, and the line or action being read, for error messages.
struct reading_at {
  char const* who;
  named_value place;
};

/// \throws parse_error   unless `digits` is a whole number below 2^128
[[nodiscard]] inline wide read_wide(std::string_view digits, reading_at const& at) {
  wide value = 0;
  bool whole = !digits.empty();
  for (char const c : digits) {
    whole = whole && c >= '0' && c <= '9';
    wide const digit = wide(c - '0');
    if (!whole || value > (~wide{0} - digit) / 10)
      throw parse_error{
          at.who, "not a whole number, or too large", {at.place}, "numbers are written in decimal digits"};
    value = 10 * value + digit;
  }
  if (!whole) throw parse_error{at.who, "a number is missing", {at.place}, ""};
  return value;
}
/// \throws parse_error   unless `digits` is a whole number below 2^63
[[nodiscard]] inline step_index read_index(std::string_view digits, reading_at const& at) {
  wide const value = read_wide(digits, at);
  if (value > wide((std::numeric_limits<step_index>::max)()))
    throw parse_error{
        at.who, "a number of 2^63 or more", {at.place, {"number", value}}, "steps and slots have 63 bits"};
  return step_index(value);
}
/// \throws parse_error
[[nodiscard]] inline bool read_claim(std::string_view word, reading_at const& at) {
  if (word == "1" || word == "true") return true;
  if (word == "0" || word == "false") return false;
  throw parse_error{at.who, "neither 0 nor 1", {at.place}, "free_initial and tapes_restart are 0 or 1"};
}

/// The parts of an action as texts; an empty text means the default.
struct action_text {
  std::string_view kind, from, to, slot, what, where;
};

/// \throws parse_error
[[nodiscard]] inline action read_action(action_text const& said, reading_at const& at) {
  auto const kind = value_in<action_kind>(kind_words, said.kind);
  if (!kind)
    throw parse_error{
        at.who, "no such action", {at.place}, "actions are advance, save, load, drop, record, turn, reverse, done"};
  auto const what = said.what.empty() ? usual_content(*kind) : value_in<content>(content_words, said.what);
  if (!what) throw parse_error{at.who, "no such content", {at.place}, "a slot holds a state or a tape"};
  auto const where = said.where.empty() ? tier::memory : value_in<tier>(tier_words, said.where);
  if (!where) throw parse_error{at.who, "there is no such tier", {at.place}, "tiers are memory, device, host, disk"};
  bool const from_tape = *kind == action_kind::reverse && *what == content::tape;
  bool const fills = *kind == action_kind::save || *kind == action_kind::record;
  bool const uses_slot = from_tape || fills || *kind == action_kind::load || *kind == action_kind::drop;
  bool const needs_slot = uses_slot && (*kind != action_kind::load ||
                                        *what == content::tape);  // a load without slot loads the initial state
  if ((has_from(*kind) && said.from.empty()) || (has_to(*kind) && said.to.empty()) || (needs_slot && said.slot.empty()))
    throw parse_error{at.who,
                      "the action lacks a number",
                      {at.place},
                      "advance, record, turn and reverse need from and to; save and load a from; save, drop, record "
                      "and what is about a tape a slot"};
  if ((!has_from(*kind) && !said.from.empty()) || (!has_to(*kind) && !said.to.empty()) ||
      (!uses_slot && !said.slot.empty()))
    throw parse_error{at.who, "the action has a number too many", {at.place},
                      "save and load have no to, drop has only a slot, advance and turn have no slot"};
  action a{*kind, *where, *what, no_slot, 0, 0};
  if (!said.from.empty()) a.from = read_index(said.from, at);
  if (!said.to.empty()) a.to = read_index(said.to, at);
  if (!said.slot.empty()) a.slot = read_index(said.slot, at);
  return a;
}

/// Collects the numbers of a plan by name, and its actions, and makes the list.
class action_list_reader {
 public:
  /// \throws parse_error   for an unknown or repeated name, and for an invalid value
  void set(std::string_view name, std::string_view value, reading_at const& at) {
    std::size_t k = 0;
    while (k < names && name != name_of[k]) ++k;
    if (k == names)
      throw parse_error{at.who,
                        "no such name",
                        {at.place},
                        "a plan has steps, slots, leaf, tapes, free_initial, tapes_restart, units, tape_units"};
    if (seen_[k]) throw parse_error{at.who, "a name twice", {at.place}, ""};
    seen_[k] = true;
    switch (k) {
      case 0: steps_ = read_index(value, at); break;
      case 1: slots_ = read_index(value, at); break;
      case 2: options_.leaf = read_index(value, at); break;
      case 3: options_.tapes = read_index(value, at); break;
      case 4: options_.free_initial = read_claim(value, at); break;
      case 5: options_.tapes_restart = read_claim(value, at); break;
      case 6: options_.budget.units = read_wide(value, at); break;
      default: options_.budget.tape_units = read_wide(value, at);
    }
  }
  /// \throws parse_error   for an action after `done`
  void add(action_text const& said, reading_at const& at) {
    action const a = read_action(said, at);
    if (done_) throw parse_error{at.who, "an action after done", {at.place}, ""};
    done_ = a.kind == action_kind::done;
    if (!done_) actions_.push_back(a);
  }
  /// \throws parse_error   if steps, slots or `done` are missing   \throws invalid_plan   for invalid numbers of a plan
  [[nodiscard]] action_list result(reading_at const& at) const {
    if (!seen_[0] || !seen_[1])
      throw parse_error{at.who, "steps or slots are missing", {at.place}, "both must be there before the actions"};
    if (!done_)
      throw parse_error{at.who, "the text ends before done", {at.place}, "the last action of a whole file is done"};
    return {steps_, slots_, actions_.data(), actions_.size(), options_};
  }

 private:
  static constexpr std::size_t names = 8;
  static constexpr std::string_view name_of[names]{"steps",        "slots",         "leaf",  "tapes",
                                                   "free_initial", "tapes_restart", "units", "tape_units"};
  bool seen_[names] = {};
  bool done_ = false;
  step_index steps_ = 0;
  slot_index slots_ = 0;
  action_list_options options_;
  std::vector<action> actions_;
};

}  // namespace cairn::detail
