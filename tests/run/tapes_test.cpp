// SPDX-License-Identifier: Apache-2.0
// States and tapes live and die separately: lists of actions in which a state is dropped while the tape made from it is
// kept.
#include <cairn/cairn.hpp>
#include "support/catch.hpp"
#include "support/pendulum.hpp"

using cairn::action;
using cairn::step_index;
using k = cairn::action_kind;

namespace {

action save(step_index i, cairn::slot_index slot) { return {k::save, {}, {}, slot, i, 0}; }
action load(step_index i, cairn::slot_index slot) { return {k::load, {}, {}, slot, i, 0}; }
action drop_state(cairn::slot_index slot) { return {k::drop, {}, cairn::content::state, slot, 0, 0}; }
action drop_tape(cairn::slot_index slot) { return {k::drop, {}, cairn::content::tape, slot, 0, 0}; }
action record(step_index i, cairn::slot_index slot) { return {k::record, {}, cairn::content::tape, slot, i, i + 1}; }
action turn(step_index from, step_index n) { return {k::turn, {}, {}, cairn::no_slot, from, n}; }
action reverse(step_index i) { return {k::reverse, {}, {}, cairn::no_slot, i, i + 1}; }
action reverse_tape(step_index i, cairn::slot_index slot) {
  return {k::reverse, {}, cairn::content::tape, slot, i, i + 1};
}

void check(cairn::action_list const& plan, long step_calls) {
  auto const expected = pendulum::stored{plan.steps()}.gradient;
  auto const counts = cairn::verify(plan);
  CHECK(cairn::step_calls(counts, cairn::adjoint_form::recorded) == cairn::wide(step_calls));
  auto work = cairn::workspace_for<pendulum::state>(plan);
  for (int repeat = 0; repeat < 2; ++repeat) {
    int const outside = pendulum::state::alive;
    pendulum::step_calls = 0;
    CHECK(cairn::gradient(pendulum::in_place{}, pendulum::start(), plan, pendulum::seed, pendulum::recorded()) ==
          expected);
    CHECK(pendulum::step_calls == step_calls);
    CHECK(pendulum::state::alive == outside);
    CHECK(cairn::gradient(pendulum::by_value{}, pendulum::start(), cairn::any_schedule{plan}, pendulum::seed,
                          pendulum::recorded()) == expected);
    CHECK(cairn::gradient(pendulum::out_of_place{}, pendulum::start(), plan, pendulum::seed, pendulum::recorded(),
                          work) == expected);
  }
}

}  // namespace

TEST_CASE("every step is recorded once in the forward run and no state is kept") {
  check({3,
         0,
         {record(0, 0), record(1, 1), record(2, 2), turn(3, 3), reverse_tape(2, 2), drop_tape(2), reverse_tape(1, 1),
          drop_tape(1), reverse_tape(0, 0), drop_tape(0)},
         {.tapes = 3}},
        3);
}

TEST_CASE("a state is dropped while the tapes made from it live on") {
  check({3,
         1,
         {save(0, 0), record(0, 0), record(1, 1), drop_state(0), record(2, 2), turn(3, 3), reverse_tape(2, 2),
          drop_tape(2), reverse_tape(1, 1), drop_tape(1), reverse_tape(0, 0), drop_tape(0)},
         {.tapes = 3}},
        3);
}

TEST_CASE("a tape is dropped while its state lives on, and is recorded again later") {
  check({3,
         1,
         {save(0, 0), record(0, 0), record(1, 1), drop_tape(0), record(2, 0), turn(3, 3), reverse_tape(2, 0),
          drop_tape(0), reverse_tape(1, 1), drop_tape(1), load(0, 0), drop_state(0), record(0, 0), reverse_tape(0, 0),
          drop_tape(0)},
         {.tapes = 2}},
        4);
}

TEST_CASE("tapes and states mix: some steps are reversed from a tape, others are run again") {
  check({4,
         2,
         {save(0, 0),
          {k::advance, {}, {}, cairn::no_slot, 0, 1},
          record(1, 0),
          save(2, 1),
          {k::advance, {}, {}, cairn::no_slot, 2, 3},
          turn(3, 4),
          reverse(3),
          load(2, 1),
          drop_state(1),
          reverse(2),
          reverse_tape(1, 0),
          drop_tape(0),
          load(0, 0),
          drop_state(0),
          reverse(0)},
         {.tapes = 1}},
        6);
}

TEST_CASE("a plan with tapes asks for a recording adjoint, and for gradient") {
  cairn::action_list const plan{1, 0, {record(0, 0), turn(1, 1), reverse_tape(0, 0), drop_tape(0)}, {.tapes = 1}};
  pendulum::step_calls = 0;
  CHECK_THROWS_AS(cairn::gradient(pendulum::in_place{}, pendulum::start(), plan, pendulum::seed, pendulum::one_step{}),
                  cairn::invalid_plan);
  CHECK_THROWS_AS(cairn::checkpointed_loop(pendulum::in_place{}, pendulum::start(), plan), cairn::invalid_plan);
  CHECK(pendulum::step_calls == 0);
}

TEST_CASE("a tape need not be movable, and reverse may take the index and give the adjoint by value") {
  struct fixed_tape {
    double x;
    explicit fixed_tape(double value) : x{value} {}
    fixed_tape(fixed_tape const&) = delete;
  };
  auto const record_sine = [](double& x, step_index) {
    struct out_of_scope { double& x; ~out_of_scope() { x = std::sin(x); } } const last{x};
    return fixed_tape{x};
  };
  auto const step = [](double& x, step_index) { x = std::sin(x); };
  long indices = 0;
  auto const adjoint = cairn::recorded{record_sine, [&](fixed_tape const& tape, double bar, step_index i) {
                                         indices += i;
                                         return bar * std::cos(tape.x);
                                       }};
  auto const plain = [](double x, double& bar, step_index) { bar *= std::cos(x); };
  CHECK(cairn::gradient(step, 2.1, cairn::revolve{20, 3}, 1.0, adjoint) ==
        cairn::gradient(step, 2.1, cairn::revolve{20, 3}, 1.0, plain));
  CHECK(indices == 190);
}
