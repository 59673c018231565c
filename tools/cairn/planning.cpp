#include "planning.hpp"

#include <algorithm>
#include <limits>
#include <string>

#include <cairn/plan/verify.hpp>
#include <cairn/schedule/leaves.hpp>
#include <cairn/schedule/revolve.hpp>
#include <cairn/schedule/uniform.hpp>

#include "numbers.hpp"
#include "wrong_request.hpp"

namespace tool {
namespace {

using cairn::slot_index;
using cairn::step_index;

/// A checked walk keeps a table of the slots in use; where they are very many the actions are counted only.
template <class Plan>
cairn::schedule_counts walk(Plan const& plan) {
  constexpr slot_index most_checked = 100'000;
  return plan.slots() <= most_checked ? cairn::verify(plan) : cairn::detail::walked_counts(plan);
}

template <class Plan>
planned figures(request const& asked, Plan const& plan, slot_index slots) {
  planned found{asked, plan, slots, {}, asked.steps <= cairn::most_walked_steps, {}, 0, 0, {}};
  found.counts = found.walked ? walk(plan) : plan.counts();
  if (asked.state) found.cost = cairn::estimate(plan, workload_of(asked));
  return found;
}

/// A kind of plan: how many slots it can use, and the plan with that many.
struct revolve_maker {
  step_index steps;
  slot_index least() const { return 1; }
  auto operator()(slot_index slots) const { return cairn::revolve{steps, slots}; }
};
struct leaves_maker {
  step_index steps, block;
  step_index count() const { return steps / block + (steps % block != 0 ? 1 : 0); }
  slot_index least() const { return 1; }
  auto operator()(slot_index slots) const { return cairn::leaves{steps, block, cairn::revolve{count(), slots}}; }
};
struct uniform_maker {
  step_index steps;
  slot_index least() const { return cairn::detail::least_block_peak(steps); }
  auto operator()(slot_index slots) const { return cairn::uniform{steps, {.slots = slots}}; }
};

[[noreturn]] void refuse_budget(request const& asked, cairn::wide least) {
  throw wrong_request{"memory is " + digits(asked.memory->count()) + " B, but " + name_of(asked.schedule) + " over " +
                      digits(cairn::wide(*asked.steps)) + " steps with states of " + digits(asked.state->count()) + " B needs " + digits(least) +
                      " B at least; give that much" + (asked.schedule == schedule_kind::revolve ? "" : ", or schedule revolve")};
}

/// The most slots whose plan fits the budget. Each guess that is too large is lowered by what surely has to go: a slot costs its state and,
/// in frame, slot number and cursor, at most `beside` bytes.
template <class Make>
slot_index most_slots(request const& asked, Make const& make) {
  constexpr cairn::wide beside = 64;
  constexpr slot_index most_estimated = std::numeric_limits<slot_index>::max() - 16;
  auto const work = workload_of(asked);
  cairn::wide const budget = asked.memory->count();
  slot_index const least = make.least();
  slot_index const useful = std::clamp<slot_index>(*asked.steps - 1, least, most_estimated);
  auto slots = slot_index(std::clamp<cairn::wide>(budget / work.state_bytes, cairn::wide(least), cairn::wide(useful)));
  for (;;) {
    auto const plan = make(slots);
    auto const needed = cairn::estimate(plan, work).peak_bytes;
    if (needed <= budget) return plan.slots();
    if (slots == least) refuse_budget(asked, needed);
    auto const excess = std::max<cairn::wide>(1, (needed - budget) / (work.state_bytes + beside));
    auto const reached = std::min(slots, plan.slots());
    slots = excess < cairn::wide(reached - least) ? reached - slot_index(excess) : least;
  }
}

void refuse_what_clashes(request const& asked) {
  bool const revolve = asked.schedule == schedule_kind::revolve;
  if (!asked.steps) throw wrong_request{"steps is not given; give the number of steps of the loop"};
  if (asked.slots && asked.memory) throw wrong_request{"slots and memory are both given; give one of them"};
  if (asked.memory && !asked.state) throw wrong_request{"memory is given without state; give the size of one state, too"};
  if ((asked.adjoint || asked.tape || asked.out_of_place) && !asked.state)
    throw wrong_request{"adjoint, tape and out_of_place are for figures in bytes; give state, too"};
  if (revolve && !asked.slots && !asked.memory) throw wrong_request{"revolve needs slots, or memory and state; give one of these"};
  if (asked.schedule == schedule_kind::uniform && asked.slots && asked.block)
    throw wrong_request{"slots and block are both given; either says what uniform keeps, give one of them"};
  if (asked.schedule == schedule_kind::store_all && (asked.slots || asked.block))
    throw wrong_request{"slots and block do not go with store_all, which keeps every state; leave them out"};
}

planned revolve_plan(request const& asked) {
  revolve_maker const alone{*asked.steps};
  leaves_maker const leaves{*asked.steps, asked.block.value_or(1)};
  slot_index const slots = asked.slots ? *asked.slots : asked.block ? most_slots(asked, leaves) : most_slots(asked, alone);
  if (slots < 1) throw wrong_request{"slots is 0, but revolve needs 1 at least; give that many"};
  cairn::revolve const inner{leaves.count(), slots};
  auto found = asked.block ? figures(asked, leaves(slots), slots) : figures(asked, inner, slots);
  if (asked.block) found.blocks = leaves.count();
  found.repetition_number = inner.repetition_number();
  found.first_split = inner.first_split() * leaves.block;
  return found;
}

planned uniform_plan(request const& asked) {
  bool const all = asked.schedule == schedule_kind::store_all;
  bool const by_memory = asked.memory && !all && !asked.block;
  auto const slots = by_memory ? std::optional{most_slots(asked, uniform_maker{*asked.steps})} : asked.slots;
  auto const plan = all ? cairn::store_all(*asked.steps) : cairn::uniform{*asked.steps, {.block = asked.block, .slots = slots}};
  if (asked.memory && !by_memory)
    if (auto const needed = cairn::estimate(plan, workload_of(asked)).peak_bytes; needed > asked.memory->count())
      refuse_budget(asked, needed);
  auto found = figures(asked, plan, slots.value_or(plan.slots()));
  found.blocks = plan.blocks();
  if (plan.steps() < 2) return found;
  found.repetition_number = found.counts.advances < cairn::wide(plan.steps()) ? 1 : 2;
  found.first_split = plan.blocks() > 1 ? plan.checkpoint(0) : 1;
  return found;
}

}  // namespace

planned plan_of(request const& asked) {
  refuse_what_clashes(asked);
  return asked.schedule == schedule_kind::revolve ? revolve_plan(asked) : uniform_plan(asked);
}

cairn::workload workload_of(request const& asked) {
  cairn::workload work;
  work.state_bytes = asked.state->count();
  work.adjoint_bytes = asked.adjoint.value_or(*asked.state).count();
  work.tape_bytes = asked.tape.value_or(cairn::byte_size{}).count();
  work.form.step = asked.out_of_place ? cairn::step_form::out_of_place : cairn::step_form::in_place;
  if (asked.schedule == schedule_kind::revolve && asked.block) work.form.adjoint = cairn::adjoint_form::leaf;
  return work;
}

slot_index least_slots(request const& asked) {
  switch (asked.schedule) {
    case schedule_kind::revolve: break;
    case schedule_kind::uniform: return uniform_maker{*asked.steps}.least();
    case schedule_kind::store_all: return cairn::store_all(*asked.steps).slots();
  }
  return 1;
}

}  // namespace tool
