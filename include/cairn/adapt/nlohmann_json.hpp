// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file nlohmann_json.hpp  Schedules as JSON by nlohmann::json, and back.
///
///     {"steps": 3, "slots": 1, "actions": [{"action": "save", "from": 0, "slot": 0}, ..., {"action": "done"}]}
///
/// Members with default values are omitted: leaf, tapes, free_initial, tapes_restart, units, tape_units; in an action
/// `what` for a state (and for a `record`), `tier` for memory, `slot` for a load of a free initial state. Integers of
/// 2^63 or more are written as decimal strings; readers accept any integer as such a string, too. These are plain
/// functions and not nlohmann's to_json and from_json, so that no implicit conversion happens.
#include <cairn/language.hpp>  // first: an older language gets its message

#include <cstddef>
#include <limits>
#include <string>
#include <string_view>
#include <utility>
#include <nlohmann/json.hpp>
#include <cairn/adapt/nlohmann_json/detail/json_events.hpp>
#include <cairn/core/action.hpp>
#include <cairn/core/error.hpp>
#include <cairn/plan/text/action_words.hpp>
#include <cairn/plan/text/detail/read_actions.hpp>
#include <cairn/plan/text/detail/written_actions.hpp>
#include <cairn/schedule/action_list.hpp>

namespace cairn {

/// One action as a JSON object.
[[nodiscard]] inline nlohmann::json action_json(action const& a) {
  nlohmann::json object{{"action", std::string{word_of(a.kind)}}};
  if (detail::has_from(a.kind)) object["from"] = a.from;
  if (detail::has_to(a.kind)) object["to"] = a.to;
  if (a.slot != no_slot) object["slot"] = a.slot;
  if (a.what == content::tape || a.what != detail::usual_content(a.kind)) object["what"] = std::string{word_of(a.what)};
  if (a.where != tier::memory) object["tier"] = std::string{word_of(a.where)};
  return object;
}

/// A whole schedule as a JSON object that `read_actions_json` reads.   Cost: one walk, some hundred bytes per action.
/// \throws invalid_plan   for more than `most_written_actions`
/// \throws invalid_schedule   at the first action that cannot be obeyed
template <class Schedule>
[[nodiscard]] nlohmann::json actions_json(Schedule const& plan) {
  if constexpr (!detail::check_written<Schedule>()) return {};
  else {
    nlohmann::json object{{"steps", plan.steps()}, {"slots", plan.slots()}};
    auto const wide_json = [](wide value) -> nlohmann::json {
      if (value <= wide((std::numeric_limits<step_index>::max)())) return step_index(value);
      return std::string{detail::text<40>{}.add(value).c_str()};
    };
    unit_budget const budget = units_of(plan), usual;
    if (plan.leaf() != 1) object["leaf"] = plan.leaf();
    if (tapes_of(plan) != 0) object["tapes"] = tapes_of(plan);
    if (initial_is_free(plan)) object["free_initial"] = true;
    if (tapes_restart(plan)) object["tapes_restart"] = true;
    if (budget.units != usual.units) object["units"] = wide_json(budget.units);
    if (budget.tape_units != usual.tape_units) object["tape_units"] = wide_json(budget.tape_units);
    auto& actions = object["actions"] = nlohmann::json::array();
    detail::each_written_action(plan, "cairn::actions_json",
                                [&](action const& taken) { actions.push_back(action_json(taken)); });
    return object;
  }
}

namespace detail {

inline constexpr char const* json_reader_name = "cairn::read_actions_json";

/// \throws parse_error   for a value that is neither a text, an integer nor a boolean
[[nodiscard]] inline std::string text_of_member(nlohmann::json const& value, reading_at const& at) {
  if (value.is_string()) return value.get<std::string>();
  if (value.is_number_integer() || value.is_boolean()) return value.dump();
  throw parse_error{at.who, "neither a text nor a whole number", {at.place}, ""};
}
[[nodiscard]] inline action_text action_of_object(nlohmann::json const& object, std::string (&parts)[6],
                                                  reading_at const& at) {
  constexpr std::string_view names[6]{"action", "from", "to", "slot", "what", "tier"};
  if (!object.is_object()) throw parse_error{at.who, "an action that is not an object", {at.place}, ""};
  for (auto const& [name, value] : object.items()) {
    std::size_t k = 0;
    while (k < 6 && name != names[k]) ++k;
    if (k == 6)
      throw parse_error{at.who, "no such name", {at.place}, "an action has action, from, to, slot, what, tier"};
    parts[k] = text_of_member(value, at);
  }
  return {parts[0], parts[1], parts[2], parts[3], parts[4], parts[5]};
}

[[noreturn]] inline void refuse_no_action_list() {
  throw parse_error{json_reader_name, "this is not a list of actions", {},
                    "give an object with steps, slots, and an array of actions"};
}

/// Reads a list of actions from the events of a JSON reader: only the action that is being read is ever a tree.
class action_events final : public json_events {
 public:
  bool key(json::string_t& name) override {
    key_ = name;
    return true;
  }
  bool parse_error(std::size_t position, std::string const&, json::exception const& found) override {
    throw cairn::parse_error{json_reader_name,
                             is_too_large_a_number(found) ? "a number that is too large for any type"
                                                          : "this is not JSON",
                             {{"byte", position}},
                             ""};
  }
  [[nodiscard]] action_list result() const {
    if (!listed_) refuse_no_action_list();
    return plan_.result(at_);
  }

 private:
  bool value(json const& is) override {
    if (depth_ == 0 || (depth_ == 1 && key_ == "actions")) refuse_no_action_list();
    if (depth_ == 1) plan_.set(key_, text_of_member(is, at_), at_);
    else if (depth_ == 2) add(is);
    else if (!action_.emplace(key_, is).second)
      throw cairn::parse_error{at_.who, "a name twice", {at_.place}, ""};
    return true;
  }
  bool open(json const& empty) override {
    bool const suits = depth_ == 0   ? empty.is_object()
                       : depth_ == 1 ? key_ != "actions" || (empty.is_array() && !std::exchange(listed_, true))
                                     : true;
    if (!suits) refuse_no_action_list();
    if ((depth_ == 1 && key_ != "actions") || depth_ > 2) (void)text_of_member(empty, at_);  // which it is not
    if (depth_ == 2 && !empty.is_object()) add(empty);
    if (depth_++ == 2) action_ = json::object();
    return true;
  }
  bool close() override {
    if (--depth_ == 2) add(action_);
    return true;
  }
  void add(json const& one) {
    std::string parts[6];
    plan_.add(action_of_object(one, parts, at_), at_);
    at_.place = {"action", at_.place.magnitude + 1};
  }

  reading_at at_{json_reader_name, {"action", 0}};
  action_list_reader plan_;
  int depth_ = 0;  ///< open containers: the object, its list of actions, an action
  bool listed_ = false;
  json action_;
  json::string_t key_;
};

}  // namespace detail

/// The schedule in a JSON object. The actions are read but not checked: use `verified{action_list_from_json(object)}`
/// for that.
/// \throws parse_error   with the number of the action, from 0   \throws invalid_plan   for invalid numbers of a plan,
///   such as leaf 0
[[nodiscard]] inline action_list action_list_from_json(nlohmann::json const& object) {
  detail::reading_at at{detail::json_reader_name, {"action", 0}};
  if (!object.is_object() || !object.contains("actions") || !object["actions"].is_array())
    detail::refuse_no_action_list();
  detail::action_list_reader plan;
  for (auto const& [name, value] : object.items())
    if (name != "actions") plan.set(name, detail::text_of_member(value, at), at);
  for (auto const& entry : object["actions"]) {
    std::string parts[6];
    plan.add(detail::action_of_object(entry, parts, at), at);
    at.place = {"action", at.place.magnitude + 1};
  }
  return plan.result(at);
}

/// The schedule in a JSON text, like `action_list_from_json`; no tree is built.
/// \throws parse_error   with the position in bytes or the number of the action   \throws invalid_plan
[[nodiscard]] inline action_list read_actions_json(std::string_view text) {
  detail::action_events events;
  nlohmann::json::sax_parse(text, &events);
  return events.result();
}

}  // namespace cairn
