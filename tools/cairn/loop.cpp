// SPDX-License-Identifier: Apache-2.0
#include "loop.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>

#include "wrong_request.hpp"

namespace tool {
namespace {

cairn::planner planner_of(std::string_view name, std::string_view text) {
  std::string known;
  for (std::size_t k = 0; k < cairn::planner_count; ++k) {
    auto const by = cairn::planner(k);
    if (text == cairn::name_of(by)) return by;
    known.append(k == 0 ? "" : k + 1 == cairn::planner_count ? " or " : ", ").append(cairn::name_of(by));
  }
  refuse_value(name, text, known);
}

cairn::reversible_costs& backwards(asked_loop& asked) {
  auto& costs = asked.work.reversible;
  return costs ? *costs : costs.emplace();
}

cairn::wide capacity_of(std::string_view name, std::string_view text) {
  return text == "unlimited" ? cairn::unlimited_bytes : cairn::wide{size_of(name, text).count()};
}

constexpr loop_key keys[] = {
    {"steps", "N", "steps of the loop",
     [](asked_loop& a, auto name, auto text) { a.work.steps = count_of(name, text, 0); }},
    {"memory", "BYTES", "budget for everything in memory, e.g. 512MiB",
     [](asked_loop& a, auto name, auto text) { a.memory = size_of(name, text); }},
    {"state", "BYTES", "size of one state",
     [](asked_loop& a, auto name, auto text) {
       if ((a.work.state_bytes = size_of(name, text).count()) == 0) refuse_value(name, text, "1 byte or more");
     }},
    {"adjoint", "BYTES", "size of the adjoint (that of a state)",
     [](asked_loop& a, auto name, auto text) { a.adjoint = size_of(name, text); }},
    {"tape", "BYTES", "what one call of the adjoint holds beside it, or one recorded step keeps (0)",
     [](asked_loop& a, auto name, auto text) { a.work.tape_bytes = size_of(name, text).count(); }},
    {"tape_step", "BYTES", "leaves: what each step of one adds to that (0)",
     [](asked_loop& a, auto name, auto text) { a.work.tape_step_bytes = size_of(name, text).count(); }},
    {"out_of_place", nullptr, "the step reads one state and writes another",
     [](asked_loop& a, auto name, auto text) {
       a.work.form.step = truth_of(name, text) ? cairn::step_form::out_of_place : cairn::step_form::in_place;
     }},
    {"leaves", nullptr, "one call of the adjoint may reverse several steps",
     [](asked_loop& a, auto name, auto text) { a.leaves = truth_of(name, text); }},
    {"records", nullptr, "the adjoint works from a tape that running the step again records",
     [](asked_loop& a, auto name, auto text) { a.records = truth_of(name, text); }},
    {"tape_restarts", nullptr, "the loop can go on from such a tape",
     [](asked_loop& a, auto name, auto text) { a.work.tapes_restart = truth_of(name, text); }},
    {"step_seconds", "S", "one step",
     [](asked_loop& a, auto name, auto text) { a.work.step_seconds = number_of(name, text); }},
    {"record_seconds", "S", "one recorded step (that of a step)",
     [](asked_loop& a, auto name, auto text) { a.work.record_seconds = number_of(name, text); }},
    {"adjoint_seconds", "S", "the adjoint of one step",
     [](asked_loop& a, auto name, auto text) { a.work.adjoint_seconds = number_of(name, text); }},
    {"kept", "BYTES", "the step can run backwards: what is kept of one step for that, or 0",
     [](asked_loop& a, auto name, auto text) { backwards(a).kept_bytes = size_of(name, text).count(); }},
    {"back_seconds", "S", "one step backwards (that of a step)",
     [](asked_loop& a, auto name, auto text) { backwards(a).back_seconds = number_of(name, text); }},
    {"longest", "K", "most steps backwards from one state, for their drift (any)",
     [](asked_loop& a, auto name, auto text) { backwards(a).longest = count_of(name, text, 1); }},
    {"disk", "BYTES", "room for states on disk, or unlimited (no disk)",
     [](asked_loop& a, auto name, auto text) { a.work.tiers.disk.bytes = capacity_of(name, text); }},
    {"disk_write", "S", "seconds to write a state to disk (0)",
     [](asked_loop& a, auto name, auto text) { a.work.tiers.disk.write_seconds = number_of(name, text); }},
    {"disk_read", "S", "seconds to read one (0)",
     [](asked_loop& a, auto name, auto text) { a.work.tiers.disk.read_seconds = number_of(name, text); }},
    {"host", "BYTES", "room for states in the memory of the host, or unlimited; memory is then that of its device",
     [](asked_loop& a, auto name, auto text) { a.work.tiers.host.bytes = capacity_of(name, text); }},
    {"host_write", "S", "seconds to move a state there (0)",
     [](asked_loop& a, auto name, auto text) { a.work.tiers.host.write_seconds = number_of(name, text); }},
    {"host_read", "S", "seconds to bring one back (0)",
     [](asked_loop& a, auto name, auto text) { a.work.tiers.host.read_seconds = number_of(name, text); }},
    {"threads", "K", "2: the sweep may have a helper, plans in memory divide the budget (1)",
     [](asked_loop& a, auto name, auto text) {
       a.options.threads = int(std::min<std::int64_t>(count_of(name, text, 1), 3));
     }},
    {"behind", nullptr, "states on disk are written and read while the sweep computes, two of each",
     [](asked_loop& a, auto name, auto text) {
       if (truth_of(name, text)) a.options.behind = cairn::behind_options{};
     }},
    {"schedule", "NAME", "this one only",
     [](asked_loop& a, auto name, auto text) { a.options.only = planner_of(name, text); }},
    {"leaf", "K", "leaves of this length only",
     [](asked_loop& a, auto name, auto text) { a.options.leaf = count_of(name, text, 1); }},
};

}  // namespace

std::span<loop_key const> loop_keys() noexcept { return keys; }

void set(asked_loop& asked, std::string_view name, std::string_view text) {
  for (auto const& key : keys)
    if (key.name == name) return key.set(asked, name, text);
  throw wrong_request{quoted(name) + " is not a key of a loop"};
}

asked_loop completed(asked_loop asked, bool with_memory) {
  auto& work = asked.work;
  if (!work.steps) throw wrong_request{worded("$steps is not given; give the number of steps of the loop")};
  if (work.state_bytes == 0) throw wrong_request{worded("$state is not given; give the size of one state")};
  if (with_memory && !asked.memory) throw wrong_request{worded("$memory is not given; give a budget, as in 512MiB")};
  if (!with_memory && asked.memory) throw wrong_request{worded("$memory is given, but all budgets are looked at; leave it out")};
  if (asked.leaves && asked.records) throw wrong_request{worded("$leaves and $records are both given; give one of them")};
  if ((asked.options.leaf || work.tape_step_bytes > 0) && !asked.leaves)
    throw wrong_request{worded("$leaf and $tape_step are for adjoints of several steps; give $leaves, too")};
  if (work.tapes_restart && !asked.records)
    throw wrong_request{worded("$tape_restarts is for adjoints that record; give $records, too")};
  if (asked.options.threads > 2) throw wrong_request{worded("$threads is more than 2; a sweep runs on one or two")};
  if ((asked.options.threads > 1 || asked.options.behind) && work.step_seconds == 0)
    throw wrong_request{worded("$threads and $behind are planned by times; give $step_seconds and $adjoint_seconds")};
  if (work.reversible && (asked.leaves || asked.records))
    throw wrong_request{worded("$kept, $back_seconds and $longest are for an adjoint of one step; leave out $leaves and $records")};
  for (auto const& [there, name] : {std::pair{work.tiers.disk, "disk"}, {work.tiers.host, "host"}})
    if (there.bytes == 0 && (there.write_seconds > 0 || there.read_seconds > 0))
      throw wrong_request{name_of_key(name) + " is not given, but times of it; give its room, or unlimited"};
  work.adjoint_bytes = asked.adjoint ? asked.adjoint->count() : work.state_bytes;
  if (work.tape_bytes == cairn::unknown_bytes) work.tape_bytes = 0;
  if (work.form.step == cairn::step_form::none) work.form.step = cairn::step_form::in_place;
  work.form.adjoint = asked.leaves    ? cairn::adjoint_form::leaf
                      : asked.records ? cairn::adjoint_form::recorded
                                      : cairn::adjoint_form::one_step;
  return asked;
}

}  // namespace tool
