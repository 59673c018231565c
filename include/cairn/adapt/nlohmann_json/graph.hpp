// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file graph.hpp  Graphs of operations and their plans as JSON by nlohmann::json, and back.
///
///     {"operations": [{"bytes": 8, "time": 3}, {"inputs": [0], "bytes": 4, "time": 5, "adjoint_needs_output": false}]}
///
/// Each operation has members named as those of `graph_operation`; `adjoint_needs_inputs` is one flag, or a list of one
/// for each input. Beside `operations` there may be `outputs`, `loss_time` and `loss_work`, as in an `operation_graph`,
/// with the same defaults. Other members, such as names, are ignored. If an object has a member `graph`, that member is
/// read, so that one file may hold a graph and a `plan` for it. Numbers are whole, from 0 to 2^63-1, and exact; a
/// string of decimal digits is accepted as a number, too.
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>
#include <nlohmann/json.hpp>
#include <cairn/adapt/nlohmann_json/detail/json_events.hpp>
#include <cairn/core/error.hpp>
#include <cairn/plan/graph/graph_plan.hpp>
#include <cairn/plan/text/graph_words.hpp>
#include <cairn/rules/operation_graph.hpp>

namespace cairn {
namespace detail {

struct graph_number {
  char const* name;
  std::int64_t graph_operation::*number;
};
inline constexpr graph_number graph_numbers[]{{"bytes", &graph_operation::bytes},
                                              {"time", &graph_operation::time},
                                              {"work", &graph_operation::work},
                                              {"tape_bytes", &graph_operation::tape_bytes},
                                              {"adjoint_bytes", &graph_operation::adjoint_bytes},
                                              {"adjoint_time", &graph_operation::adjoint_time},
                                              {"adjoint_work", &graph_operation::adjoint_work},
                                              {"copy_bytes", &graph_operation::copy_bytes}};

inline constexpr std::pair<char const*, std::vector<step_index> graph_operation::*> listed_states_of[] = {
    {"states_changed", &graph_operation::states_changed}, {"states_read", &graph_operation::states_read}};

/// Reads a graph from the events of a JSON reader: only the operation that is being read is ever a tree, and of that
/// only the members that are known.
class graph_events final : public json_events {
 public:
  explicit graph_events(char const* who) noexcept : json_events{who} {}

  /// The graph, checked; call once.
  [[nodiscard]] operation_graph take() {
    if (!listed_) refuse_shape();
    if (beside_.contains("outputs")) graph_.outputs = numbers(beside_["outputs"]);
    for (auto const& [name, number] :
         {std::pair{"loss_time", &graph_.loss_time}, std::pair{"loss_work", &graph_.loss_work}})
      if (beside_.contains(name)) *number = number_of(beside_[name]);
    check_graph(graph_, who_);
    return std::move(graph_);
  }

 private:
  void value(json const& is) override {
    if (depth_ == 0 || (depth_ == 1 && key_ == "graph")) refuse_shape();
    if (depth_ < graph_depth_) return;  // beside the member `graph`
    if (list_) list_->push_back(is);
    else if (is_operations(depth_)) refuse_shape();
    else if (depth_ == graph_depth_ + 1) refuse_operation();
    else if (is_known(depth_)) put(is, depth_);
  }
  void open(json const& empty) override {
    bool const outermost = depth_ == 1, nested = depth_ == 2 && key_ == "graph";
    if (outermost || nested) {
      if (!empty.is_object() || (nested && graph_depth_ == 2)) refuse_shape();
      graph_depth_ = depth_;
      graph_ = {}, beside_ = json::object(), listed_ = false;
    } else if (depth_ <= graph_depth_) {
      ignore();
    } else if (list_) {
      list_->push_back(empty);
      ignore();
    } else if (depth_ == graph_depth_ + 2) {
      if (!empty.is_object()) refuse_operation();
      operation_ = json::object();
    } else if (is_operations(depth_ - 1)) {
      if (!empty.is_array()) refuse_shape();
      if (std::exchange(listed_, true)) refuse_twice();
    } else {
      json* const member = is_known(depth_ - 1) ? &put(empty, depth_ - 1) : nullptr;
      if (member && empty.is_array()) list_ = member;
      else ignore();
    }
  }
  void close() override {
    if (list_) list_ = nullptr;
    else if (depth_ == graph_depth_ + 2) graph_.operations.push_back(operation());
  }

  [[nodiscard]] bool is_operations(int depth) const { return depth == graph_depth_ && key_ == "operations"; }
  /// Whether the value that follows `key_` inside that many containers is a member that is read.
  [[nodiscard]] bool is_known(int depth) const {
    if (depth == graph_depth_) return key_ == "outputs" || key_ == "loss_time" || key_ == "loss_work";
    if (key_ == "inputs" || key_ == "adjoint_needs_inputs" || key_ == "adjoint_needs_output") return true;
    for (auto const& [name, number] : graph_numbers)
      if (key_ == name) return true;
    for (auto const& [name, states] : listed_states_of)
      if (key_ == name) return true;
    return false;
  }
  json& put(json const& is, int depth) {
    auto const [at, is_new] = (depth == graph_depth_ ? beside_ : operation_).emplace(key_, is);
    if (!is_new) refuse_twice();
    return *at;
  }

  [[nodiscard]] graph_operation operation() const {
    json const& from = operation_;
    graph_operation made;
    if (from.contains("inputs")) made.inputs = numbers(from["inputs"]);
    for (auto const& [name, number] : graph_numbers)
      if (from.contains(name)) made.*number = number_of(from[name]);
    if (from.contains("adjoint_needs_inputs")) made.adjoint_needs_inputs = needed(from["adjoint_needs_inputs"], made);
    for (auto const& [name, states] : listed_states_of)
      if (from.contains(name)) made.*states = numbers(from[name]);
    if (from.contains("adjoint_needs_output")) made.adjoint_needs_output = flag(from["adjoint_needs_output"]);
    return made;
  }
  [[nodiscard]] needed_inputs needed(json const& from, graph_operation const& of) const {
    if (!from.is_array()) return flag(from);
    if (from.size() != of.inputs.size())
      refuse("an adjoint has flags for a different number of inputs",
             {here(), {"flags", from.size()}, {"inputs", of.inputs.size()}},
             "give adjoint_needs_inputs one flag for each input, or one for all");
    std::vector<bool> each;
    for (json const& one : from) each.push_back(flag(one));
    return needed_inputs(std::move(each));
  }
  [[nodiscard]] bool flag(json const& is) const {
    if (!is.is_boolean())
      refuse("what an adjoint of this graph needs is neither true nor false", {here()},
             "adjoint_needs_output is true or false, adjoint_needs_inputs one of these or a list of them");
    return is.get<bool>();
  }
  [[nodiscard]] std::vector<step_index> numbers(json const& list) const {
    if (!list.is_array())
      refuse("inputs, outputs or states of this graph are not a list", {here()}, "write a list, as in [0, 1]");
    std::vector<step_index> made;
    for (json const& one : list) made.push_back(number_of(one));
    return made;
  }
  [[nodiscard]] std::int64_t number_of(json const& is) const {
    if (auto const number = whole_json_or_digits(is)) return *number;
    refuse("a number of this graph is not a whole one from 0 to 2^63-1", {here()},
           "give whole bytes, and times in a unit that makes them whole");
  }

  /// The operation that is being read; their number beside them.
  [[nodiscard]] named_value here() const { return {"operation", graph_.operations.size()}; }
  [[noreturn]] void refuse_shape() const {
    refuse("this is not a graph", {}, "give an object with a list operations, or one whose member graph is that");
  }
  [[noreturn]] void refuse_operation() const {
    refuse("an operation of this graph is not an object", {here()}, "write {\"inputs\": [0], \"bytes\": 8}");
  }
  [[noreturn]] void refuse_twice() const {
    refuse("a member of this graph is given twice", {here()}, "give it once");
  }

  int graph_depth_ = 0;  ///< open containers around the members of the graph, its own included
  bool listed_ = false;  ///< the operations were there
  json* list_ = nullptr; ///< the list that is being read, but not that of the operations
  json operation_, beside_;
  operation_graph graph_;
};

/// Reads the member `plan` of the outermost object.
class graph_plan_events final : public json_events {
 public:
  graph_plan_events() noexcept : json_events{"cairn::read_graph_plan_json"} {}

  [[nodiscard]] std::string take() {
    if (!plan_) refuse_shape();
    return std::move(*plan_);
  }

 private:
  void value(json const& is) override {
    if (depth_ == 0) refuse_shape();
    if (key_ == "plan" && is.is_string()) plan_ = is.get<std::string>();
  }
  void open(json const& empty) override {
    if (depth_ > 1) ignore();
    else if (!empty.is_object()) refuse_shape();
  }
  [[noreturn]] void refuse_shape() const {
    refuse("this is not a plan for a graph", {}, "give an object whose member plan is a line of words");
  }

  std::optional<std::string> plan_;
};

}  // namespace detail

/// A graph as a JSON object that `graph_from_json` reads; members with the default of `graph_operation` are omitted.
/// Numbers stay in the units of the graph. The graph is not checked: an invalid graph is refused when it is read.
/// Cost: O(operations + inputs)
[[nodiscard]] inline nlohmann::json graph_json(operation_graph const& graph) {
  nlohmann::json operations = nlohmann::json::array();
  graph_operation const usual;
  for (graph_operation const& of : graph.operations) {
    nlohmann::json one{{"bytes", of.bytes}, {"time", of.time}};
    if (!of.inputs.empty()) one["inputs"] = of.inputs;
    for (auto const& [name, number] : detail::graph_numbers)
      if (of.*number != usual.*number) one[name] = of.*number;
    for (auto const& [name, states] : detail::listed_states_of)
      if (!(of.*states).empty()) one[name] = of.*states;
    auto const& needed = of.adjoint_needs_inputs;
    if (!needed.each().empty()) one["adjoint_needs_inputs"] = needed.each();
    else if (!needed[0]) one["adjoint_needs_inputs"] = false;
    if (!of.adjoint_needs_output) one["adjoint_needs_output"] = false;
    operations.push_back(std::move(one));
  }
  nlohmann::json object{{"operations", std::move(operations)}};
  if (!graph.outputs.empty()) object["outputs"] = graph.outputs;
  if (graph.loss_time != 0) object["loss_time"] = graph.loss_time;
  if (graph.loss_work != 0) object["loss_work"] = graph.loss_work;
  return object;
}

/// The graph in a JSON object, checked.
/// \throws parse_error   with the operation   \throws invalid_plan, overflow_error   for an invalid graph
[[nodiscard]] inline operation_graph graph_from_json(nlohmann::json const& object) {
  detail::graph_events events{"cairn::graph_from_json"};
  events.read_tree(object);
  return events.take();
}
/// The graph in a JSON text, checked; no tree is built, so that memory is that of the graph.   \throws parse_error,
/// invalid_plan, overflow_error   as `graph_from_json`
[[nodiscard]] inline operation_graph read_graph_json(std::string_view text) {
  detail::graph_events events{"cairn::read_graph_json"};
  events.read(text);
  return events.take();
}

/// The costs of a plan and its distance from the best, as a JSON object; `plan` has its actions as `graph_words` writes
/// them.
[[nodiscard]] inline nlohmann::json graph_plan_json(graph_plan const& plan) {
  return {{"budget", plan.budget},
          {"peak", plan.cost.peak},
          {"makespan", plan.cost.makespan},
          {"extra_forward", plan.cost.extra_forward},
          {"runs", plan.cost.runs},
          {"lower_bound_time", plan.lower_bound_time},
          {"lower_bound_peak", plan.lower_bound_peak},
          {"exact", plan.is_exact},
          {"plan", graph_words(plan.actions)}};
}
/// The actions of the member `plan` of a JSON text, for `graph_gradient`, which checks them.
/// \throws parse_error   if there is none, and as `read_graph_words`
[[nodiscard]] inline std::vector<action> read_graph_plan_json(std::string_view text) {
  detail::graph_plan_events events;
  events.read(text);
  return read_graph_words(events.take());
}

}  // namespace cairn
