// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file chain.hpp  Chains and their plans as JSON by nlohmann::json, and chains back.
///
///     {"L": 2, "x": [8, 8, 8], "s": [20, 20], "f": [0, 0], "b": [4, 4, 8], "uf": [10, 10], "ub": [20, 20, 0]}
///
/// `u` is accepted for `uf` and `v` for `ub`. `g`, `f`, `b`, `ub` and `self_contained_tape` are optional, as in a
/// `chain`; so is `L`, which is checked if it is present. Other members are ignored. If an object has a member `chain`,
/// that member is read. Numbers are whole, from 0 to 2^63-1, and exact; a string of decimal digits is accepted as a
/// number, too.
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
#include <cairn/core/error.hpp>
#include <cairn/plan/chain/chain_plan.hpp>
#include <cairn/plan/text/chain_words.hpp>
#include <cairn/rules/chain.hpp>

namespace cairn {
namespace detail {

/// A list of numbers of a chain: its name in JSON, and the name of its entries in errors.
struct chain_member {
  std::string_view name, other_name;
  char const* place;
  std::vector<std::int64_t> chain::*numbers;
};
inline constexpr chain_member chain_members[]{
    {"x", "x", "position in x", &chain::x},  {"g", "g", "position in g", &chain::g},
    {"s", "s", "position in s", &chain::s},  {"f", "f", "position in f", &chain::f},
    {"b", "b", "position in b", &chain::b},  {"uf", "u", "position in uf", &chain::u},
    {"ub", "v", "position in ub", &chain::v}};

}  // namespace detail

/// Builds a chain from the events of a JSON reader, without a tree in between: numbers are stored directly, and ignored
/// members take no memory, however deeply they are nested. Members outside the chain are passed to `outer`, for formats
/// that hold more than a chain. Pass it to `nlohmann::json::sax_parse`, then call `take`.
class chain_json_reader : public detail::json_events {
 public:
  /// \param who  what errors begin with, with static storage
  /// \param bare  whether the outermost object may be the chain itself
  chain_json_reader(char const* who, bool bare) noexcept : json_events{who}, bare_{bare} {}

  /// Returns the chain; call once.   \throws parse_error, invalid_plan, overflow_error   if it is not a valid chain
  [[nodiscard]] chain take() {
    if (!is_given(detail::chain_members[0])) refuse_shape();
    if (stages_ && *stages_ != chain_.stages())
      refuse("L is not the number of stages that x has", {{"numbers in x", chain_.x.size()}},
             "give one less than x has numbers, or leave L out");
    detail::check_chain(chain_, who_);
    return std::move(chain_);
  }

 protected:
  /// Receives a member of the outermost object that is not part of the chain; objects and arrays come without their
  /// content.
  virtual void outer(std::string const&, json const&) {}

 private:
  [[nodiscard]] static detail::chain_member const* list_called(std::string_view name) noexcept {
    for (auto const& known : detail::chain_members)
      if (name == known.name || name == known.other_name) return &known;
    return nullptr;
  }
  /// Whether a value inside that many containers is a member of the chain.
  [[nodiscard]] bool in_chain(int depth) const noexcept { return nested_ ? depth == 2 : bare_ && depth == 1; }
  [[nodiscard]] bool is_given(detail::chain_member const& list) const noexcept {
    return (given_ >> (&list - detail::chain_members) & 1u) != 0;
  }

  void value(json const& is) override {
    if (list_) {
      auto& numbers = chain_.*list_->numbers;
      numbers.push_back(number_of(is, list_->place, numbers.size()));
    } else if (depth_ == 0 || (depth_ == 1 && key_ == "chain")) {
      refuse_shape();
    } else if (!in_chain(depth_)) {
      outer(key_, is);
    } else if (key_ == "L") {
      stages_ = detail::whole_json(is).value_or(-1);
    } else if (key_ == "self_contained_tape") {
      if (!is.is_boolean())
        refuse("self_contained_tape is neither true nor false", {},
               "it says of all tapes that adjoints need nothing beside them");
      chain_.self_contained_tape = is.get<bool>();
    } else if (auto const* const known = list_called(key_); known && !is.is_null()) {
      refuse_list(*known);
    }
  }
  void open(json const& empty) override {
    if (list_) refuse_entry(list_->place, (chain_.*list_->numbers).size());
    if (depth_ == 1) {
      if (!empty.is_object()) refuse_shape();
    } else if (depth_ == 2 && key_ == "chain") {
      if (!empty.is_object() || nested_) refuse_shape();
      nested_ = true;
      chain_ = {}, given_ = 0, stages_.reset();
    } else if (!in_chain(depth_ - 1)) {
      outer(key_, empty);
      ignore();
    } else if (auto const* const known = list_called(key_)) {
      if (!empty.is_array()) refuse_list(*known);
      if (is_given(*known))
        refuse("a list of this chain is given twice", {{known->place, (chain_.*known->numbers).size()}},
               "give it once; u is uf, and v is ub");
      given_ |= 1u << (known - detail::chain_members);
      list_ = known;
    } else {
      if (key_ == "L") stages_ = -1;
      ignore();
    }
  }
  void close() override { list_ = nullptr; }
  [[nodiscard]] std::int64_t number_of(json const& is, char const* place, std::size_t position) const {
    if (auto const number = detail::whole_json_or_digits(is)) return *number;
    if (is.is_number_unsigned() || (is.is_number_float() && is.get<double>() >= 0x1p63))
      refuse("a number of this chain is larger than 2^63-1", {{place, position}},
             "give sizes in KiB, or times in a larger unit");
    if (is.is_number_integer())
      refuse("a number of this chain is negative", {{place, position}, {"value", is.get<std::int64_t>()}},
             "sizes and times are 0 or more");
    if (is.is_number_float())
      refuse("a number of this chain is not written as a whole one", {{place, position}},
             "give whole bytes, and times in a unit that makes them whole");
    refuse_entry(place, position);
  }
  [[noreturn]] void refuse_entry(char const* place, std::size_t position) const {
    refuse("an entry of this chain is not a number", {{place, position}}, "lists of a chain hold numbers");
  }
  [[noreturn]] void refuse_list(detail::chain_member const& list) const {
    refuse("a member of this chain is not a list of numbers", {{list.place, 0}},
           "x, g, s, f, b, uf and ub are lists, as in \"x\": [8, 8, 8]");
  }
  [[noreturn]] void refuse_shape() const {
    refuse("this is not a chain", {},
           "give an object with lists x, s and uf, or one whose member chain is that, once");
  }

  bool bare_;
  bool nested_ = false;  ///< the chain is the member `chain`
  detail::chain_member const* list_ = nullptr;
  unsigned given_ = 0;  ///< bit k is set if detail::chain_members[k] was present
  std::optional<std::int64_t> stages_;  ///< from `L`; -1 if it is not a valid number of stages
  chain chain_;
};

/// A chain as a JSON object that `chain_from_json` reads; empty lists of the chain are omitted.
[[nodiscard]] inline nlohmann::json chain_json(chain const& work) {
  nlohmann::json object{{"L", work.stages()}, {"x", work.x}, {"s", work.s}, {"uf", work.u}};
  for (auto const& optional : {std::pair{"g", &work.g}, {"f", &work.f}, {"b", &work.b}, {"ub", &work.v}})
    if (!optional.second->empty()) object[optional.first] = *optional.second;
  if (work.self_contained_tape) object["self_contained_tape"] = true;
  return object;
}

/// The chain in a JSON object, checked.
/// \throws parse_error   with the list and the position in it, from 0   \throws invalid_plan, overflow_error   for
///   invalid numbers of a chain, such as lists of different lengths
[[nodiscard]] inline chain chain_from_json(nlohmann::json const& object) {
  chain_json_reader events{"cairn::chain_from_json", true};
  events.read_tree(object);
  return events.take();
}

/// The chain in a JSON text, checked; no tree is built.   Cost: O(its length), 8 bytes of memory per number
/// \throws parse_error   with the position in bytes, or the list and the position in it   \throws invalid_plan,
///   overflow_error   for invalid numbers of a chain
[[nodiscard]] inline chain read_chain_json(std::string_view text) {
  chain_json_reader events{"cairn::read_chain_json", true};
  events.read(text);
  return events.take();
}

/// The costs of a plan and its distance from the best, as a JSON object; `plan` has its actions as `chain_words` writes
/// them.
[[nodiscard]] inline nlohmann::json chain_plan_json(chain_plan const& plan) {
  return {{"planner", name_of(plan.by)},
          {"budget", plan.budget},
          {"peak", plan.cost.peak},
          {"makespan", plan.cost.makespan},
          {"extra_forward", plan.cost.extra_forward},
          {"transfer", plan.cost.transfer},
          {"stage_runs", plan.cost.stage_runs},
          {"lower_bound_time", plan.proof.lower_bound_time},
          {"lower_bound_peak", plan.proof.lower_bound_peak},
          {"bound", name_of(plan.bound_class())},
          {"bound_time", plan.bound()},
          {"gap", plan.gap()},
          {"exact", plan.exact()},
          {"plan", chain_words(plan.actions)}};
}

}  // namespace cairn
