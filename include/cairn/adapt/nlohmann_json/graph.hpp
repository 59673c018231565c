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
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>
#include <nlohmann/json.hpp>
#include <cairn/adapt/nlohmann_json/detail/json_events.hpp>
#include <cairn/adapt/nlohmann_json/detail/whole_json.hpp>
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

/// Reads a graph from a JSON tree.
class graph_reader {
 public:
  using json = nlohmann::json;
  explicit graph_reader(char const* who) noexcept : who_{who} {}

  [[nodiscard]] operation_graph read(json const& object) const {
    json const& from = object.is_object() && object.contains("graph") ? object["graph"] : object;
    if (!from.is_object() || !from.contains("operations") || !from["operations"].is_array()) refuse_shape();
    operation_graph graph;
    for (json const& one : from["operations"]) graph.operations.push_back(operation(one, graph.operations.size()));
    finish(graph, from);
    return graph;
  }
  /// Reads what stands beside the operations, and checks the graph.
  void finish(operation_graph& graph, json const& from) const {
    if (from.contains("outputs")) graph.outputs = numbers(from["outputs"], graph.operations.size());
    for (auto const& [name, number] :
         {std::pair{"loss_time", &graph.loss_time}, std::pair{"loss_work", &graph.loss_work}})
      if (from.contains(name)) *number = number_of(from[name], graph.operations.size());
    check_graph(graph, who_);
  }
  [[noreturn]] void refuse(char const* problem, std::initializer_list<named_value> values, char const* advice) const {
    throw parse_error{who_, problem, values, advice};
  }
  [[noreturn]] void refuse_shape() const {
    refuse("this is not a graph", {}, "give an object with a list operations, or one whose member graph is that");
  }
  [[nodiscard]] graph_operation operation(json const& from, std::size_t v) const {
    if (!from.is_object())
      refuse("an operation of this graph is not an object",
             {{"operation", v}}, "write {\"inputs\": [0], \"bytes\": 8}");
    graph_operation made;
    if (from.contains("inputs")) made.inputs = numbers(from["inputs"], v);
    for (auto const& [name, number] : graph_numbers)
      if (from.contains(name)) made.*number = number_of(from[name], v);
    if (from.contains("adjoint_needs_inputs"))
      made.adjoint_needs_inputs = needed(from["adjoint_needs_inputs"], made, v);
    for (auto const& [name, states] : listed_states_of)
      if (from.contains(name)) made.*states = numbers(from[name], v);
    if (from.contains("adjoint_needs_output")) made.adjoint_needs_output = flag(from["adjoint_needs_output"], v);
    return made;
  }

 private:
  [[nodiscard]] needed_inputs needed(json const& from, graph_operation const& of, std::size_t v) const {
    if (!from.is_array()) return flag(from, v);
    if (from.size() != of.inputs.size())
      refuse("an adjoint has flags for a different number of inputs",
             {{"operation", v}, {"flags", from.size()}, {"inputs", of.inputs.size()}},
             "give adjoint_needs_inputs one flag for each input, or one for all");
    std::vector<bool> each;
    for (json const& one : from) each.push_back(flag(one, v));
    return needed_inputs(std::move(each));
  }
  [[nodiscard]] bool flag(json const& is, std::size_t v) const {
    if (!is.is_boolean())
      refuse("what an adjoint of this graph needs is neither true nor false", {{"operation", v}},
             "adjoint_needs_output is true or false, adjoint_needs_inputs one of these or a list of them");
    return is.get<bool>();
  }
  [[nodiscard]] std::vector<step_index> numbers(json const& list, std::size_t v) const {
    if (!list.is_array())
      refuse("inputs, outputs or states of this graph are not a list", {{"operation", v}},
             "write a list, as in [0, 1]");
    std::vector<step_index> made;
    for (json const& one : list) made.push_back(number_of(one, v));
    return made;
  }
  [[nodiscard]] std::int64_t number_of(json const& is, std::size_t v) const {
    if (auto const number = whole_json_or_digits(is)) return *number;
    refuse("a number of this graph is not a whole one from 0 to 2^63-1", {{"operation", v}},
           "give whole bytes, and times in a unit that makes them whole");
  }

  char const* who_;
};

/// Reads a graph from the events of a JSON reader: only the operation that is being read is ever a tree, and of that
/// only the members that are known.
class graph_events final : public json_events {
 public:
  explicit graph_events(char const* who) noexcept : reader_{who} {}

  bool key(json::string_t& name) override {
    if (ignored_ == 0) key_ = name;
    return true;
  }
  bool parse_error(std::size_t position, std::string const&, json::exception const& found) override {
    reader_.refuse(is_too_large_a_number(found) ? "a number that is too large for any type" : "this is not JSON",
                   {{"byte", position}}, "");
  }
  /// The graph, checked; call once.
  [[nodiscard]] operation_graph take() {
    if (!listed_) reader_.refuse_shape();
    reader_.finish(graph_, beside_);
    return std::move(graph_);
  }

 private:
  bool value(json const& is) override {
    if (ignored_ > 0) return true;
    if (depth_ == 0 || (depth_ == 1 && key_ == "graph")) reader_.refuse_shape();
    if (depth_ < graph_depth_) return true;  // beside the member `graph`
    if (list_) list_->push_back(is);
    else if (is_operations()) reader_.refuse_shape();
    else if (depth_ == graph_depth_ + 1) (void)reader_.operation(is, graph_.operations.size());  // not an object
    else if (is_known()) put(is);
    return true;
  }
  bool open(json const& empty) override {
    ++depth_;
    if (ignored_ > 0) return true;
    bool const outermost = depth_ == 1, nested = depth_ == 2 && key_ == "graph";
    if (outermost || nested) {
      if (!empty.is_object() || (nested && graph_depth_ == 2)) reader_.refuse_shape();
      graph_depth_ = depth_;
      graph_ = {}, beside_ = json::object(), listed_ = false;
    } else if (depth_ <= graph_depth_) {
      ignored_ = depth_;
    } else if (list_) {
      list_->push_back(empty);
      ignored_ = depth_;
    } else if (depth_ == graph_depth_ + 2) {
      if (!empty.is_object()) (void)reader_.operation(empty, graph_.operations.size());
      operation_ = json::object();
    } else if (--depth_; is_operations()) {
      ++depth_;
      if (!empty.is_array()) reader_.refuse_shape();
      if (std::exchange(listed_, true)) refuse_twice();
    } else {
      bool const known = is_known();
      json* const member = known ? &put(empty) : nullptr;
      ++depth_;
      if (known && empty.is_array()) list_ = member;
      else ignored_ = depth_;
    }
    return true;
  }
  bool close() override {
    if (ignored_ == depth_) ignored_ = 0;
    else if (ignored_ > 0) {
    } else if (list_) list_ = nullptr;
    else if (depth_ == graph_depth_ + 2)
      graph_.operations.push_back(reader_.operation(operation_, graph_.operations.size()));
    --depth_;
    return true;
  }

  [[nodiscard]] bool is_operations() const { return depth_ == graph_depth_ && key_ == "operations"; }
  /// Whether the value that follows `key_` is a member that is read.
  [[nodiscard]] bool is_known() const {
    if (depth_ == graph_depth_) return key_ == "outputs" || key_ == "loss_time" || key_ == "loss_work";
    if (key_ == "inputs" || key_ == "adjoint_needs_inputs" || key_ == "adjoint_needs_output") return true;
    for (auto const& [name, number] : graph_numbers)
      if (key_ == name) return true;
    for (auto const& [name, states] : listed_states_of)
      if (key_ == name) return true;
    return false;
  }
  json& put(json const& is) {
    auto const [at, is_new] = (depth_ == graph_depth_ ? beside_ : operation_).emplace(key_, is);
    if (!is_new) refuse_twice();
    return *at;
  }
  [[noreturn]] void refuse_twice() const {
    reader_.refuse("a member of this graph is given twice", {{"operation", graph_.operations.size()}}, "give it once");
  }

  graph_reader reader_;
  int depth_ = 0;        ///< open containers
  int graph_depth_ = 0;  ///< of these around the members of the graph, its own included
  int ignored_ = 0;      ///< containers that were open when an ignored one began; 0 outside ignored ones
  bool listed_ = false;  ///< the operations were there
  json* list_ = nullptr; ///< the list that is being read, but not that of the operations
  json operation_, beside_;
  json::string_t key_;
  operation_graph graph_;
};

/// Reads the member `plan` of the outermost object.
class graph_plan_events final : public json_events {
 public:
  std::optional<std::string> plan;

  bool key(json::string_t& name) override {
    if (depth_ == 1) is_plan_ = name == "plan";
    return true;
  }
  bool parse_error(std::size_t, std::string const&, json::exception const&) override { return false; }

 private:
  bool value(json const& is) override {
    if (depth_ == 1 && is_plan_ && is.is_string()) plan = is.get<std::string>();
    return true;
  }
  bool open(json const& empty) override { return ++depth_ > 1 || empty.is_object(); }
  bool close() override { return --depth_ >= 0; }

  int depth_ = 0;
  bool is_plan_ = false;
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
  return detail::graph_reader{"cairn::graph_from_json"}.read(object);
}
/// The graph in a JSON text, checked; no tree is built, so that memory is that of the graph.   \throws parse_error,
/// invalid_plan, overflow_error   as `graph_from_json`
[[nodiscard]] inline operation_graph read_graph_json(std::string_view text) {
  detail::graph_events events{"cairn::read_graph_json"};
  nlohmann::json::sax_parse(text, &events);
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
  if (!nlohmann::json::sax_parse(text, &events) || !events.plan)
    throw parse_error{"cairn::read_graph_plan_json", "this is not a plan for a graph", {},
                      "give an object whose member plan is a line of words"};
  return read_graph_words(*events.plan);
}

}  // namespace cairn
