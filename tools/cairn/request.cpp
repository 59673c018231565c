// SPDX-License-Identifier: Apache-2.0
#include "request.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <string>

#include "wrong_request.hpp"

namespace tool {
namespace {

schedule_kind const* kind_of(std::string_view name, std::string_view text) {
  if (auto const* kind = kind_named(text)) return kind;
  refuse_value(name, text, kind_names("", " or "));
}

initial_state initial_of(std::string_view name, std::string_view text) {
  if (text != "releasable" && text != "pinned_free") refuse_value(name, text, "releasable or pinned_free");
  return text == "releasable" ? initial_state::releasable : initial_state::pinned_free;
}

keep_choice keep_choice_of(std::string_view name, std::string_view text) {
  if (text == "states") return keep_choice::states;
  if (text == "tapes") return keep_choice::tapes;
  if (text == "both") return keep_choice::both;
  refuse_value(name, text, "states, tapes or both");
}

/// "5:0:0,3:10.5:1": slots, write and read of each.
std::vector<asked_tier> tiers_of(std::string_view name, std::string_view text) {
  constexpr std::size_t most = 64;
  std::vector<asked_tier> tiers;
  for (auto rest = text;;) {
    auto const end = rest.find(',');
    auto const one = rest.substr(0, end);
    auto const first = one.find(':'), second = first == one.npos ? first : one.find(':', first + 1);
    if (second == one.npos || tiers.size() == most)
      refuse_value(name, text, "SLOTS:WRITE:READ of each, with commas between, as in 5:0:0,20:10:3");
    auto const part = [&](char const* member) { return std::string{name} + ' ' + member; };
    tiers.push_back({count_of(part("slots"), one.substr(0, first), 0),
                     number_of(part("write"), one.substr(first + 1, second - first - 1)),
                     number_of(part("read"), one.substr(second + 1))});
    if (end == rest.npos) return tiers;
    rest.remove_prefix(end + 1);
  }
}

/// A help that begins with a colon follows the names of the kinds that the key applies to.
constexpr request_key keys[] = {
    {"steps", "N", "steps of the loop", [](request& r, auto name, auto text) { r.steps = count_of(name, text, 0); }},
    {"slots", "S", "states kept at once, the initial one included",
     [](request& r, auto name, auto text) { r.slots = count_of(name, text, 0); }},
    {"memory", "BYTES", "budget for everything in memory, e.g. 512MiB: the most slots that fit are taken",
     [](request& r, auto name, auto text) { r.memory = size_of(name, text); }},
    {"state", "BYTES", "size of one state; the answer then includes bytes",
     [](request& r, auto name, auto text) {
       if ((r.state = size_of(name, text)) == cairn::byte_size{}) refuse_value(name, text, "1 byte or more");
     }},
    {"adjoint", "BYTES", "size of the adjoint (that of a state)",
     [](request& r, auto name, auto text) { r.adjoint = size_of(name, text); }},
    {"tape", "BYTES", "what one call of the adjoint holds beside it, or one recorded step keeps (0)",
     [](request& r, auto name, auto text) { r.tape = size_of(name, text); }},
    {"out_of_place", nullptr, "the step reads one state and writes another",
     [](request& r, auto name, auto text) { r.out_of_place = truth_of(name, text); }},
    {"schedule", "NAME",
     nullptr,
     [](request& r, auto name, auto text) { r.named = kind_of(name, text); }},
    {"block", "K",
     "revolve: steps that one call of the adjoint reverses; uniform: steps from one checkpoint to the next",
     [](request& r, auto name, auto text) { r.block = count_of(name, text, 1); }},
    {"period", "P", ": steps from one state kept on the way forward to the next",
     [](request& r, auto name, auto text) { r.period = count_of(name, text, 1); }},
    {"extra_slots", "X", ": states kept beside those, to reverse one period",
     [](request& r, auto name, auto text) { r.extra_slots = count_of(name, text, 0); }},
    {"eager", nullptr, ": decide on a state before it is known whether another step follows",
     [](request& r, auto name, auto text) { r.eager = truth_of(name, text); }},
    {"ram_slots", "R", ": states kept in memory at once",
     [](request& r, auto name, auto text) { r.ram_slots = count_of(name, text, 0); }},
    {"disk_slots", "D", ": states kept on disk at once (unlimited)",
     [](request& r, auto name, auto text) { r.disk_slots = count_of(name, text, 0); }},
    {"disk_write", "COST", ": keeping a state on disk",
     [](request& r, auto name, auto text) { r.disk_write = number_of(name, text); }},
    {"disk_read", "COST", ": bringing one back",
     [](request& r, auto name, auto text) { r.disk_read = number_of(name, text); }},
    {"tiers", "S:W:R,...", ": slots, cost of a write and of a read of each place for states",
     [](request& r, auto name, auto text) { r.tiers = tiers_of(name, text); }},
    {"advance_cost", "COST", ": running a step (1)",
     [](request& r, auto name, auto text) { r.advance_cost = number_of(name, text); }},
    {"turn_cost", "COST", ": reversing a step (0)",
     [](request& r, auto name, auto text) { r.turn_cost = number_of(name, text); }},
    {"units", "M", ": what states, 1 unit each, and tapes share",
     [](request& r, auto name, auto text) { r.units = count_of(name, text, 0); }},
    {"tape_units", "A", ": units of one step's tape (1)",
     [](request& r, auto name, auto text) { r.tape_units = count_of(name, text, 1); }},
    {"tape_restarts", nullptr, ": the loop can go on from a tape",
     [](request& r, auto name, auto text) { r.tape_restarts = truth_of(name, text); }},
    {"initial", "HOW", ": the initial state is releasable, or pinned_free: it stays with the caller",
     [](request& r, auto name, auto text) { r.initial = initial_of(name, text); }},
    {"keep", "WHAT", ": states, tapes or both (both)",
     [](request& r, auto name, auto text) { r.keep = keep_choice_of(name, text); }},
    {"stages", "L", ": stages of one step (1)",
     [](request& r, auto name, auto text) { r.stages = count_of(name, text, 1); }},
    {"stiffly_accurate", "BOOL", ": the last stage is the new state (true)",
     [](request& r, auto name, auto text) { r.stiffly_accurate = truth_of(name, text); }},
    {"time_limit", "SECONDS", "that the answer may take, or unlimited (60)",
     [](request& r, auto name, auto text) { r.time_limit = seconds_of(name, text); }},
    {"actions", "FILE", ": the actions of a schedule, .csv or .json; they are checked",
     [](request& r, auto name, auto text) {
       if (text.empty()) refuse_value(name, text, "the name of a file");
       r.actions = text;
     }},
};
static_assert(std::size(keys) <= 64);

}  // namespace

std::span<request_key const> request_keys() {
  static std::array<std::string, std::size(keys)> helps;
  static auto const shown = [] {
    auto all = std::to_array(keys);
    for (std::size_t k = 0; k < std::size(keys); ++k) {
      if (all[k].help == nullptr) helps[k] = "revolve (the default)" + kind_names("", " or ").substr(7);
      else helps[k] = *all[k].help == ':' ? kind_names(all[k].name, ", ") + all[k].help : all[k].help;
      all[k].help = helps[k].c_str();
    }
    return all;
  }();
  return shown;
}

void set(request& asked, std::string_view name, std::string_view text) {
  for (std::size_t k = 0; k < std::size(keys); ++k)
    if (keys[k].name == name) {
      asked.given |= std::uint64_t{1} << k;
      return keys[k].set(asked, name, text);
    }
  std::string known;
  for (auto const& key : keys) known.append(known.empty() ? "" : ", ").append(key.name);
  throw wrong_request{quoted(name) + " is not a key of a request; there are " + known + " and id"};
}

void refuse_foreign_keys(request const& asked) {
  auto const& kind = asked.schedule();
  for (std::size_t k = 0; k < std::size(keys); ++k) {
    auto const name = keys[k].name;
    if ((asked.given >> k & 1) == 0 || goes_with_all(name) ||
        std::find(kind.keys.begin(), kind.keys.end(), name) != kind.keys.end())
      continue;
    std::string known = "$steps";
    for (auto const own : kind.keys) known.append(", $").append(own);
    throw wrong_request{name_of_key(name) + " does not go with " + kind.name + ", which takes " +
                        worded(known + ", and $state, $adjoint, $tape and $out_of_place for figures in bytes, and "
                                       "$time_limit; leave it out, or name another $schedule")};
  }
}

}  // namespace tool
