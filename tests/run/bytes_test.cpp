// SPDX-License-Identifier: Apache-2.0
// The predicted peak is the counted peak, to the byte.
#include <cairn/cairn.hpp>
#include <cairn/run/dry_run.hpp>
#include "support/catch.hpp"
#include "support/heap.hpp"

using cairn::step_index;
namespace {

using bytes = std::vector<unsigned char>;

/// Loops over states of any size: what is in them does not matter here.
template <class State> struct toy;
template <> struct toy<unsigned char> {
  static unsigned char start() { return 1; }
  static unsigned char of(step_index) { return 1; }
};
template <> struct toy<bytes> {
  static constexpr std::size_t size = 16 * 1024;
  static bytes start() { return bytes(size); }
  static bytes of(step_index) { return bytes(size); }
};

template <class Bar> Bar small_bar();
template <> unsigned char small_bar<unsigned char>() { return 1; }
template <> bytes small_bar<bytes>() { return bytes(100'000); }

template <class T>
cairn::wide inline_of() { return sizeof(T); }

/// Every state has the same size. A type of its own, so that one rehearsal is compiled for all checks.
struct always {
  std::size_t size;
  std::size_t operator()(step_index) const { return size; }
};

/// One cold gradient: the heap it took, and what lay on the stack of it.
template <class State, class Bar, class Plan, class Step, class Adjoint>
void check(Plan const& plan, Step step, Adjoint adjoint, bool adjoint_by_value, std::size_t tape = 0) {
  constexpr cairn::sweep_form form{cairn::detail::shape_of_step<Step, State>().form,
                                   cairn::detail::shape_of_adjoint<Adjoint, State, Bar>().form};
  auto with_value = form;
  with_value.adjoint_by_value = adjoint_by_value;
  State const x0 = toy<State>::start();
  auto const seed = [](State const&) { return small_bar<Bar>(); };
  cairn::workload const work{.state_bytes = cairn::bytes_of(x0),
                             .state_inline_bytes = sizeof(State),
                             .initial_bytes = 0,
                             .adjoint_bytes = cairn::bytes_of(small_bar<Bar>()),
                             .tape_bytes = tape,
                             .form = with_value};
  auto const predicted = cairn::estimate(plan, work);
  heap::mark const mark;
  (void)cairn::gradient(step, x0, plan, seed, adjoint);
  auto const counted = mark.rise() + sizeof(Bar) * (adjoint_by_value && plan.steps() > 0 ? 2 : 1);
  CAPTURE(plan.steps(), plan.slots(), plan.leaf(), int(form.step), int(form.adjoint), sizeof(State), adjoint_by_value);
  CHECK(counted == std::size_t(predicted.peak_bytes));
  always const sizes{cairn::bytes_of(x0)};
  CHECK(std::size_t(cairn::dry_run(plan, sizes, with_value,
                                   {work.state_bytes, sizeof(State), 0, work.adjoint_bytes, tape})) == counted);
}

/// All forms through one type of plan, which keeps this file quick to compile.
template <class State, class Bar>
void check_forms(cairn::any_schedule const& plan) {
  auto const in_place = [](State&, step_index) {};
  auto const by_value = [](State const&, step_index i) { return toy<State>::of(i); };
  auto const out_of_place = [](State const&, State&, step_index) {};
  auto const one_step = [](State const&, Bar&, step_index) {};
  auto const one_step_by_value = [](State const&, Bar const& bar, step_index) { return bar; };
  auto const with_next = [](State const&, State const&, Bar&, step_index) {};
  auto const leaf = [](State const&, Bar&, step_index, step_index) { bytes const tape(5000); };
  auto const adjoints = [&](auto step) {
    if (plan.leaf() == 1) {
      check<State, Bar>(plan, step, one_step, false);
      check<State, Bar>(plan, step, one_step_by_value, true);
      check<State, Bar>(plan, step, with_next, false);
    }
    check<State, Bar>(plan, step, leaf, false, 5000);
  };
  adjoints(in_place);
  adjoints(by_value);
  adjoints(out_of_place);
}

}  // namespace

TEMPLATE_TEST_CASE(
    "the predicted peak is the counted peak for states of 1 byte and of 16 KiB, and adjoints smaller and larger than "
    "them",
    "[bytes][long]", unsigned char, bytes) {
  for (step_index const n : {0, 1, 2, 3, 100, 106, 1000}) {
    for (step_index const slots : {1, 5, 20}) {
      check_forms<TestType, unsigned char>(cairn::revolve{n, slots});
      check_forms<TestType, bytes>(cairn::revolve{n, slots});
      check_forms<TestType, bytes>(cairn::revolve{n, slots, {.free_initial = true}});
      check_forms<TestType, bytes>(cairn::leaves{n, 7, cairn::revolve{(n + 6) / 7, slots}});
    }
    check_forms<TestType, bytes>(cairn::leaves{n + 1, 7, cairn::uniform{(n + 7) / 7}});
    check_forms<TestType, bytes>(cairn::uniform{n});
    check_forms<TestType, bytes>(cairn::uniform{n, {.block = 9}});
    check_forms<TestType, bytes>(cairn::store_all(n));
    auto const one_step = [](TestType const&, bytes&, step_index) {};
    auto const by_value = [](TestType const&, step_index i) { return toy<TestType>::of(i); };
    check<TestType, bytes>(cairn::revolve{n, 7}, by_value, one_step, false);
    check<TestType, bytes>(cairn::uniform{n}, by_value, one_step, false);
  }
}

TEST_CASE("the predicted and the rehearsed peak are the counted one, of a plan, and of one of no step, in every form") {
  check_forms<bytes, bytes>(cairn::revolve{13, 3});
  check_forms<bytes, bytes>(cairn::revolve{0, 1});
}

TEST_CASE("a kept run takes what is predicted for it, also when it is reversed twice") {
  bytes const x0(16 * 1024);
  auto const by_value = [](bytes const& x, step_index) { return bytes(x.size()); };
  for (step_index const slots : {3, 12}) {
    cairn::revolve const plan{200, slots};
    auto const check_run = [&](cairn::adjoint_form form, auto adjoint) {
      cairn::workload const work{.state_bytes = cairn::bytes_of(x0),
                                 .state_inline_bytes = sizeof x0,
                                 .initial_bytes = 0,
                                 .adjoint_bytes = 1,
                                 .form = {.step = cairn::step_form::by_value, .adjoint = form, .keeps_run = true}};
      heap::mark const mark;
      auto run = cairn::checkpointed_loop(by_value, x0, plan);
      (void)run.reverse(char{1}, adjoint);
      (void)run.reverse(char{1}, adjoint);
      auto const counted = mark.rise() + 1;
      CHECK(counted == std::size_t(cairn::estimate(plan, work).peak_bytes));
    };
    check_run(cairn::adjoint_form::one_step, [](bytes const&, char&, step_index) {});
    check_run(cairn::adjoint_form::with_next, [](bytes const&, bytes const&, char&, step_index) {});
  }
}

TEST_CASE("what a report predicts holds: to the byte for one step, and without a second adjoint for none") {
  bytes const x0(16 * 1024), seed(16 * 1024);
  auto const in_place = [](bytes&, step_index) {};
  auto const predicted = [&](step_index n, std::size_t bars, auto adjoint) {
    cairn::revolve const plan{n, 3};
    cairn::sweep_report report;
    heap::mark const mark;
    (void)cairn::gradient(in_place, x0, plan, seed, adjoint, report);
    auto const counted = mark.rise() + cairn::bytes_of(x0) + bars * sizeof(bytes);
    CAPTURE(n, bars);
    CHECK(counted <= std::size_t(report.predicted_bytes));
    if (n == 1) CHECK(counted == std::size_t(report.predicted_bytes));
    return std::size_t(report.predicted_bytes);
  };
  auto const one_step = [](bytes const&, bytes&, step_index) {};
  auto const by_value = [](bytes const&, bytes const& bar, step_index) { return bar; };
  for (step_index const n : {1, 13})
    CHECK(predicted(n, 2, by_value) == predicted(n, 1, one_step) + cairn::bytes_of(seed));
  CHECK(predicted(0, 1, by_value) == predicted(0, 1, one_step));
}

TEST_CASE("a report predicts nothing if the adjoint records, because tapes are not known before they are made") {
  cairn::sweep_report report;
  report.predicted_bytes = 7;
  (void)cairn::gradient([](bytes&, step_index) {}, bytes(9), cairn::revolve{13, 3}, bytes(9),
                        cairn::recorded{[](bytes&, step_index) { return 'x'; }, [](char, bytes&) {}}, report);
  CHECK(report.predicted_bytes == cairn::unknown_bytes);
}

namespace {

/// States of other sizes at every step: growing, shrinking, or up and down.
struct changing {
  int direction;
  [[nodiscard]] std::size_t size(step_index i) const {
    return std::size_t(direction == 0 ? 1000 + 37 * i : direction == 1 ? 9000 - 37 * i : 500 + 211 * (i * 7919 % 13));
  }
  std::size_t operator()(step_index i) const { return sizeof(bytes) + size(i); }
};

/// Counts sweeps over such states, with a replay check and without: in all forms, of steps that hold no two states
/// besides those of the sweep.
template <class Plan>
void check_changing(Plan const& plan, int direction) {
  changing const sizes{direction};
  bytes const x0(sizes.size(0));
  cairn::sweep_sizes const rest{.state_inline = sizeof(bytes), .adjoint = 1};
  auto const by_value = [=](bytes const&, step_index i) { return bytes(sizes.size(i + 1)); };
  auto const in_place = [=](bytes& x, step_index i) { x = bytes{}, x = bytes(sizes.size(i + 1)); };
  auto const out_of_place = [=](bytes const&, bytes& x1, step_index i) { x1 = bytes{}, x1 = bytes(sizes.size(i + 1)); };
  auto const one_step = [](bytes const&, char&, step_index) {};
  auto const with_next = [](bytes const&, bytes const&, char&, step_index) {};
  auto const check_form = [&](auto step, cairn::step_form form, auto back, cairn::adjoint_form back_form) {
    for (auto const mode :
         {cairn::replay_check::off, cairn::replay_check::checkpoints, cairn::replay_check::every_step}) {
      CAPTURE(direction, plan.steps(), int(mode), int(form), int(back_form));
      auto const told = cairn::dry_run(plan, sizes, {form, back_form}, rest, cairn::sweep_options{mode});
      heap::mark const mark;
      (void)cairn::gradient(step, x0, plan, char{1}, back, cairn::sweep_options{mode});
      auto const counted = mark.rise() + 1;
      CHECK(counted == std::size_t(told));
      if (mode != cairn::replay_check::off) continue;
      cairn::wide largest = 0;
      for (step_index i = 0; i <= plan.steps(); ++i) largest = largest < sizes(i) ? sizes(i) : largest;
      cairn::workload const work{.state_bytes = largest,
                                 .state_inline_bytes = sizeof(bytes),
                                 .initial_bytes = 0,
                                 .adjoint_bytes = 1,
                                 .form = {form, back_form}};
      CHECK(counted <= cairn::estimate(plan, work).peak_bytes);
    }
  };
  check_form(by_value, cairn::step_form::by_value, one_step, cairn::adjoint_form::one_step);
  check_form(by_value, cairn::step_form::by_value, with_next, cairn::adjoint_form::with_next);
  check_form(out_of_place, cairn::step_form::out_of_place, one_step, cairn::adjoint_form::one_step);
  check_form(in_place, cairn::step_form::in_place, one_step, cairn::adjoint_form::one_step);
}

}  // namespace

TEST_CASE("states that grow or shrink take what the rehearsal says, in every form of step") {
  for (int const direction : {0, 1, 2})
    for (step_index const n : {0, 1, 40}) check_changing(cairn::revolve{n, 3}, direction);
}

TEST_CASE("so they do in long loops, by all kinds of plans", "[long]") {
  for (int const direction : {0, 1, 2}) {
    check_changing(cairn::revolve{200, 1}, direction);
    check_changing(cairn::revolve{200, 9}, direction);
    check_changing(cairn::uniform{200}, direction);
    check_changing(cairn::store_all(200), direction);
  }
}

TEST_CASE("where all states fit, each frees its memory when it is dropped, unless a workspace keeps it for the next sweep") {
  constexpr step_index n = 40;
  constexpr std::size_t size = 16 * 1024;
  bytes const x0(size);
  std::size_t held[n];
  auto const step = [](bytes&, step_index) {};
  auto const adjoint = [&](bytes const&, char&, step_index i) { held[i] = heap::held; };
  auto const freed = [&](auto const& plan, auto&... work) {
    (void)cairn::gradient(step, x0, plan, char{1}, adjoint, work...);
    return (held[n - 1] - held[0]) / size;
  };
  CHECK(freed(cairn::store_all(n)) >= n - 2);
  CHECK(freed(cairn::revolve{n, n}) >= n - 2);
  CHECK(freed(cairn::revolve{n, n - 1}) >= n - 2);
  CHECK(freed(cairn::revolve{n, n - 2}) == 0);  // a state is made again
  auto work = cairn::workspace_for<bytes>(cairn::store_all(n));
  CHECK(freed(cairn::store_all(n), work) == 0);
  heap::mark const mark;
  CHECK(freed(cairn::store_all(n), work) == 0);
  CHECK(mark.allocated() == 0);
}
