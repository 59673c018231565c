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
#include <iterator>
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

/// Reads a list of actions from the events of a JSON reader.
class action_events final : public json_events {
 public:
  explicit action_events(char const* who) noexcept : json_events{who}, at_{who, {"action", 0}} {}

  [[nodiscard]] action_list result() const {
    if (!listed_) refuse_no_list();
    return plan_.result(at_);
  }

 private:
  static constexpr std::string_view names[]{"action", "from", "to", "slot", "what", "tier"};

  void value(json const& is) override {
    if (depth_ == 0 || (depth_ == 1 && key_ == "actions")) refuse_no_list();
    if (depth_ == 1) plan_.set(key_, text_of(is), at_);
    else if (depth_ == 2) refuse("an action that is not an object", {at_.place}, "");
    else take_part(is);
  }
  void open(json const& empty) override {
    bool const is_list = depth_ == 2 && key_ == "actions";
    if ((depth_ == 1 && !empty.is_object()) || (is_list && (!empty.is_array() || std::exchange(listed_, true))))
      refuse_no_list();
    if ((depth_ == 2 && !is_list) || depth_ > 3) (void)text_of(empty);  // which it is not
    if (depth_ == 3 && !empty.is_object()) refuse("an action that is not an object", {at_.place}, "");
  }
  void close() override {
    if (depth_ != 3) return;
    plan_.add({parts_[0], parts_[1], parts_[2], parts_[3], parts_[4], parts_[5]}, at_);
    for (auto& part : parts_) part.clear();
    given_ = 0;
    ++at_.place.magnitude;
  }
  void take_part(json const& is) {
    std::size_t k = 0;
    while (k < std::size(names) && key_ != names[k]) ++k;
    if (k == std::size(names))
      refuse("no such name", {at_.place}, "an action has action, from, to, slot, what, tier");
    if ((given_ >> k & 1u) != 0) refuse("a name twice", {at_.place}, "");
    given_ |= 1u << k;
    parts_[k] = text_of(is);
  }
  /// \throws parse_error   for a value that is neither a text, an integer nor a boolean
  [[nodiscard]] std::string text_of(json const& is) const {
    if (is.is_string()) return is.get<std::string>();
    if (is.is_number_integer() || is.is_boolean()) return is.dump();
    refuse("neither a text nor a whole number", {at_.place}, "");
  }
  [[noreturn]] void refuse_no_list() const {
    refuse("this is not a list of actions", {}, "give an object with steps, slots, and an array of actions");
  }

  reading_at at_;
  action_list_reader plan_;
  bool listed_ = false;
  std::string parts_[std::size(names)];  ///< of the action that is being read
  unsigned given_ = 0;                   ///< bit k is set if part k was present
};

}  // namespace detail

/// The schedule in a JSON object. The actions are read but not checked: use `verified{action_list_from_json(object)}`
/// for that.
/// \throws parse_error   with the number of the action, from 0   \throws invalid_plan   for invalid numbers of a plan,
///   such as leaf 0
[[nodiscard]] inline action_list action_list_from_json(nlohmann::json const& object) {
  detail::action_events events{"cairn::action_list_from_json"};
  events.read_tree(object);
  return events.result();
}

/// The schedule in a JSON text, like `action_list_from_json`; no tree is built.
/// \throws parse_error   with the position in bytes or the number of the action   \throws invalid_plan
[[nodiscard]] inline action_list read_actions_json(std::string_view text) {
  detail::action_events events{"cairn::read_actions_json"};
  events.read(text);
  return events.result();
}

}  // namespace cairn
