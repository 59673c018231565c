// SPDX-License-Identifier: Apache-2.0
// Sweeps that ranks run together: the bits of sweeps without ranks, one plan on all, and one error on all.
#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <memory>
#include <stdexcept>
#include <cairn/adapt/cuda/sweep.hpp>
#include <cairn/run/with/reversible.hpp>
#include <cairn/schedule/segments.hpp>
#include "adapt/mpi/ranks.hpp"
#include "support/sim_states.hpp"

namespace {

using namespace ranks;
using cairn::collective;
using cairn::collective_cause;

constexpr step_index steps = 20;

struct heat : ring_of_24 {
  [[nodiscard]] auto forward() const {
    return [this](state& x, step_index i) { step(x, i); };
  }
  [[nodiscard]] auto backward() const {
    return [this](state const& x, state& bar, step_index i) { adjoint(x, bar, i); };
  }
  [[nodiscard]] state expected() const {
    return cairn::gradient(forward(), x0, cairn::store_all(steps), seed, backward());
  }
};

void a_collective_changes_no_bit() {
  heat const h;
  auto const all = h.expected();
  collective const with{MPI_COMM_WORLD};
  cairn::revolve const plan{steps, 3};
  cairn::sweep_options const checked{.verify = cairn::replay_check::checkpoints};
  auto const step = h.forward();
  auto const adjoint = h.backward();
  claim(cairn::gradient(step, h.x0, plan, h.seed, adjoint, with) == all);
  claim(with.compared() == cairn::plan_comparison::fingerprint);
  claim(cairn::gradient(step, h.x0, steps, h.seed, adjoint, with) == all);
  claim(cairn::gradient(step, h.x0, plan, h.seed, adjoint, with.every(1)) == all);
  claim(cairn::gradient(step, h.x0, plan, h.seed, adjoint, with, checked) == all);
  auto work = cairn::workspace_for<state>(plan);
  int seen = 0, watched = 0;
  claim(cairn::gradient(step, h.x0, plan, h.seed, adjoint, with, work, [&](cairn::event const&) { ++seen; }) == all);
  claim(cairn::gradient(step, h.x0, plan, h.seed, adjoint, with.every(3), [&](cairn::event const&) { ++watched; },
                        checked) == all);
  claim(seen > 0 && seen == watched);
  claim(cairn::gradient(step, state{h.x0}, plan, [&](state const&) { return h.seed; }, adjoint,
                        with.every(2), work) == all);
}

void parameters_are_arguments() {
  heat const h;
  auto const all = h.expected();
  collective const with{MPI_COMM_WORLD};
  double const p = 1;
  double dp = 5, other = 7;
  auto const step = [&](state& x, double q, step_index i) {
    h.step(x, i);
    for (double& v : x) v *= q;
  };
  auto const adjoint = [&](state const& x, state& bar, double q, double& dq, step_index i) {
    state y = x;
    h.step(y, i);
    for (std::size_t k = 0; k < x.size(); ++k) dq += bar[k] * y[k];
    for (double& v : bar) v *= q;
    h.adjoint(x, bar, i);
  };
  cairn::revolve const plan{steps, 3};
  claim(cairn::gradient(step, h.x0, plan, h.seed, adjoint, with, cairn::wrt{p, dp}) == all);
  int seen = 0;
  auto run = cairn::checkpointed_loop(step, h.x0, plan, with.every(2), cairn::wrt{p, other},
                                      [&](cairn::event const&) { ++seen; });
  claim(run.reverse(h.seed, adjoint) == all && other == dp && dp != 0 && seen > 0);
  dp = 0;
  claim(run.reverse(h.seed, adjoint, dp) == all && other == dp);
  // In any order.
  dp = 0;
  cairn::sweep_report report;
  claim(cairn::gradient(step, h.x0, plan, h.seed, adjoint, cairn::wrt{p, dp}, report, with) == all && other == dp);
  claim(report.steps == steps && report.state_bytes > 0);
}

void an_objective_is_differentiated_together() {
  heat const h;
  collective const with{MPI_COMM_WORLD};
  cairn::revolve const plan{steps, 3};
  auto const value = [](state const& x) { return x[0] * x[0]; };
  auto const objective = cairn::at_every(5, value, [](state const& x, state& bar) { bar[0] += 2 * x[0]; });
  cairn::model const model{h.forward(), h.backward()};
  auto const right = cairn::differentiate(model, h.x0, cairn::store_all(steps), objective);
  auto const found = cairn::differentiate(model, h.x0, plan, objective, with.every(2));
  claim(found.value == right.value && found.state == right.state && found.value > 0);
}

void steps_run_backwards_together() {
  heat const h;
  collective const with{MPI_COMM_WORLD};
  auto const all = h.expected();
  auto const keep = [](state const& x) { return x; };
  auto const back = [](state& x, state const& kept) { x = kept; };
  for (step_index const length : {3, 7, 20}) {
    cairn::reversal_report report;
    cairn::model const model{cairn::reversible{h.forward(), keep, back, {.exact = true, .report = &report}}, h.backward()};
    cairn::segments const plan{steps, {.length = length, .slots = 2}};
    claim(cairn::gradient(model.step, h.x0, plan, h.seed, model.adjoint, with.every(1)) == all);
    claim(report.steps_back > 0 && report.drift == 0);
  }
}

void a_device_sweeps_together() {
  using field = sim::state<sim_runtime>;
  heat const h;
  collective const with{MPI_COMM_WORLD};
  sim_runtime device;
  auto const in = device.make_stream();
  {
    cairn::revolve const plan{steps, 3};
    field bar{device, {4}};
    sim::loop<sim_runtime> loop{device};
    cairn::device_sweep<sim_runtime, field> sweep{device, in, cairn::device_capacity_for(plan),
                                                  [&] { return field{device, {4}}; }};
    cairn::sweep_report report;
    sweep.gradient(loop.step(), loop.start(), plan, loop.seed(), loop.adjoint(), bar, report, with.every(3));
    device.sync(in);
    claim(sim::numbers_of(device, bar) == sim::gradient_by_hand({4}, steps) && report.steps == steps);
    auto const wrong = thrown_by([&] {
      auto const run = loop.step();
      auto const fails = [&](field const& x, field& x1, step_index i, sim_runtime::stream to) {
        if (i == 7 && h.rank == h.size - 1) throw std::runtime_error{"no step"};
        run(x, x1, i, to);
      };
      sweep.gradient(fails, loop.start(), plan, loop.seed(), loop.adjoint(), bar, with);
    });
    claim(alike(wrong.text) && wrong.any && wrong.rank == h.size - 1, wrong.text);
    auto const other = thrown_by([&] {
      cairn::revolve const own{steps, h.rank == 0 ? 3 : 2};
      sweep.gradient(loop.step(), loop.start(), own, loop.seed(), loop.adjoint(), bar, with);
    });
    bool const refused = other.any && other.cause == collective_cause::other_plan;
    claim(h.size == 1 ? !other.any : refused, other.text);
    device.sync(in);
  }
  device.destroy(in);
  claim(device.faults() == 0);
}

void runs_are_reversed_together() {
  heat const h;
  auto const all = h.expected();
  collective const with{MPI_COMM_WORLD};
  auto run = cairn::checkpointed_loop(h.forward(), h.x0, cairn::uniform{steps, {.checkpoints = 4}}, with);
  claim(run.steps() == steps);
  claim(run.reverse(h.seed, h.backward()) == all);
  claim(run.reverse(h.seed, h.backward()) == all, "again");
  auto [last, kept] = cairn::checkpointed_loop(h.forward(), h.x0, steps, with.every(5), cairn::sweep_options{});
  claim(last == run.final_state());
  claim(kept.size() > 0);
  auto const wrong = thrown_by([&] {
    (void)run.reverse([&](state const&) -> state { throw std::runtime_error{"no seed"}; }, h.backward());
  });
  claim(alike(wrong.text) && wrong.any && wrong.rank == 0 && wrong.has_original, wrong.text);
}

void one_rank_decides_how_long_a_loop_is() {
  heat const h;
  collective const with{MPI_COMM_WORLD};
  for (int decider = 0; decider < h.size; ++decider) {
    step_index const length = 10 + 3 * decider;
    auto const own = [&](state const&, step_index i) { return i < 10 + 3 * h.rank; };
    auto run = cairn::checkpointed_while(h.forward(), h.x0, own, cairn::online{3}, with.decided_by(decider));
    claim(run.steps() == length);
    auto const all = cairn::gradient(h.forward(), h.x0, cairn::store_all(length), h.seed, h.backward());
    claim(run.reverse(h.seed, h.backward()) == all);
    // A step that says itself where the loop ends.
    auto const stops = [&](state& x, step_index i) {
      h.step(x, i);
      return i + 1 < 10 + 3 * h.rank;
    };
    auto other = cairn::checkpointed_while(stops, h.x0, [](state const&) { return true; }, cairn::online{3},
                                           with.decided_by(decider).every(4));
    claim(other.steps() == length);
    claim(other.reverse(h.seed, h.backward()) == all);
    // With parameters: step, adjoint and the functions that end the loop take them.
    double const p = 0.5;
    double dp = 9, right = 9;
    auto const run_p = [&](state& x, double q, step_index i) {
      h.step(x, i);
      for (double& v : x) v *= q;
    };
    auto const stops_p = [&](state& x, double q, step_index i) {
      run_p(x, q, i);
      return i + 1 < 10 + 3 * h.rank;
    };
    auto const back_p = [&](state const& x, state& bar, double q, double& dq, step_index i) {
      state y = x;
      h.step(y, i);
      for (std::size_t k = 0; k < x.size(); ++k) dq += bar[k] * y[k];
      for (double& v : bar) v *= q;
      h.adjoint(x, bar, i);
    };
    auto const expected =
        cairn::gradient(run_p, h.x0, cairn::store_all(length), h.seed, back_p, cairn::wrt{p, right});
    auto const own_p = [&](state const&, double q, step_index i) { return q > 0 && i < 10 + 3 * h.rank; };
    cairn::sweep_report report;
    auto by_asking = cairn::checkpointed_while(run_p, h.x0, own_p, cairn::online{3}, cairn::wrt{p, dp},
                                               with.decided_by(decider), report);
    claim(by_asking.steps() == length && report.steps == length);
    claim(by_asking.reverse(h.seed, back_p) == expected && dp == right);
    dp = 9;
    auto by_step = cairn::checkpointed_while(stops_p, h.x0, [](state const&) { return true; }, cairn::online{3},
                                             cairn::wrt{p, dp}, with.decided_by(decider).every(4));
    claim(by_step.steps() == length);
    claim(by_step.reverse(h.seed, back_p) == expected && dp == right);
  }
  auto const wrong = thrown_by([&] {
    auto const own = [&](state const&, step_index i) {
      if (i == 4 && h.rank == h.size - 1) throw std::runtime_error{"no answer"};
      return i < 9;
    };
    (void)cairn::checkpointed_while(h.forward(), h.x0, own, cairn::online{3}, with);
  });
  claim(wrong.any && wrong.rank == h.size - 1 && wrong.has_original == (h.rank == h.size - 1), wrong.text);
  claim(alike(wrong.text), wrong.text);
  auto const slots = thrown_by([&] {
    (void)cairn::checkpointed_while(h.forward(), h.x0, [](state const&, step_index i) { return i < 5; },
                                    cairn::online{3 + h.rank}, with);
  });
  claim(slots.any == (h.size > 1) && (h.size == 1 || slots.cause == collective_cause::other_plan));
}

struct choice {
  double dt;
  int order;
};
void one_rank_chooses_the_steps_of_all(int decider) {
  heat const h;
  collective const with{MPI_COMM_WORLD};
  auto const led = with.decided_by(decider);
  // Each rank would choose for its own piece.
  std::vector<double> mine;
  auto const choose = [&](state const& x, step_index i) -> choice {
    double most = 0;
    for (double const v : x) most = std::max(most, v);
    mine.push_back(0.1 / (1 + most + h.rank));
    return {mine.back(), int(i % 3)};
  };
  auto const again = [&](state& x, step_index i, choice const& c) {
    state const old = x;
    h.step(x, i);
    for (std::size_t k = 0; k < x.size(); ++k) x[k] = old[k] + c.dt * (x[k] - old[k]);
  };
  cairn::adaptive loop{led.agreed(choose), again};
  auto run = cairn::checkpointed_while(loop.step(), h.x0, [](state const&, step_index i) { return i < 12; },
                                       cairn::online{3}, led);
  claim(loop.records().size() == 12);
  claim(mine.size() == 12);
  for (std::size_t k = 0; k < 12; ++k) {
    double of_decider = mine[k];
    MPI_Bcast(&of_decider, 1, MPI_DOUBLE, decider, MPI_COMM_WORLD);
    claim(of_decider == loop.records()[k].dt);
  }
  auto const adjoint = [&](state const& x, state& bar, step_index i, choice const& c) {
    state const old = bar;
    h.adjoint(x, bar, i);
    for (std::size_t k = 0; k < x.size(); ++k) bar[k] = old[k] + c.dt * (bar[k] - old[k]);
  };
  auto const bar = run.reverse(h.seed, loop.with_record(adjoint));
  auto const chosen = loop.records();
  auto const plain = cairn::gradient([&](state& x, step_index i) { again(x, i, chosen[std::size_t(i)]); }, h.x0,
                                     cairn::store_all(12), h.seed, [&](state const& x, state& b, step_index i) {
                                       adjoint(x, b, i, chosen[std::size_t(i)]);
                                     });
  claim(bar == plain);
  struct large {
    std::array<double, 12> all;
  };
  // With parameters.
  double const p = 0.5;
  double dp = 9, right = 9;
  auto const choose_p = [&](state const& x, double, step_index i) { return choose(x, i); };
  auto const again_p = [&](state& x, double q, step_index i, choice const& made) {
    again(x, i, made);
    for (double& v : x) v *= q;
  };
  auto const back_p = [&](state const& x, state& b, double q, double& dq, step_index i, choice const& made) {
    state y = x;
    again(y, i, made);
    for (std::size_t k = 0; k < x.size(); ++k) dq += b[k] * y[k];
    for (double& v : b) v *= q;
    adjoint(x, b, i, made);
  };
  cairn::adaptive with_p{led.agreed(choose_p), again_p};
  auto const expected = cairn::gradient(with_p.step(), h.x0, cairn::store_all(steps), h.seed,
                                        with_p.with_record(back_p), led, cairn::wrt{p, right});
  claim(cairn::gradient(with_p.step(), h.x0, cairn::revolve{steps, 2}, h.seed, with_p.with_record(back_p),
                        cairn::wrt{p, dp}, led) == expected && dp == right);
  cairn::adaptive wide{led.agreed([&](state const&, step_index) -> large {
                         large made{};
                         made.all[11] = h.rank;
                         return made;
                       }),
                       [](state& x, large const& c) { for (double& v : x) v *= 1 + 0.01 * c.all[11]; }};
  (void)cairn::checkpointed_loop(wide.step(), h.x0, 3, led);
  for (auto const& record : wide.records()) claim(record.all[11] == decider);
}

void any_rank_chooses() {
  int size = 1;
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  for (int decider = 0; decider < size; ++decider) one_rank_chooses_the_steps_of_all(decider);
}

void another_plan_is_refused_before_the_first_step() {
  heat const h;
  collective const with{MPI_COMM_WORLD};
  int ran = 0;
  auto const step = [&](state& x, step_index i) { ++ran, h.step(x, i); };
  auto const refused = [&](auto const& plan, collective<> const& ranks) {
    ran = 0;
    auto const seen = thrown_by([&] { (void)cairn::gradient(step, h.x0, plan, h.seed, h.backward(), ranks); });
    claim(seen.any && ran == 0 && seen.cause == collective_cause::other_plan && !seen.has_original, seen.text);
    claim(alike(seen.text));
    return seen.rank;
  };
  if (h.size == 1) return;
  int const other = h.size - 1;
  bool const differs = h.rank == other;
  // Revolve on some and uniform on others, as budgets of each rank's own give it.
  using any = cairn::any_schedule;
  claim(refused(differs ? any{cairn::revolve{steps, 4}} : any{cairn::uniform{steps}}, with) == other);
  claim(refused(cairn::revolve{steps + (differs ? 1 : 0), 4}, with) == other);
  // Plans that call the step equally often, with which steps would meet other steps of other ranks.
  int pairs = 0;
  for (step_index n = 3; n < 40 && pairs < 8; ++n)
    for (cairn::slot_index slots = 1; slots < n && pairs < 8; ++slots)
      for (cairn::slot_index kept = 1; kept < n && pairs < 8; ++kept) {
        cairn::revolve const one{n, slots};
        cairn::uniform const two{n, {.checkpoints = kept}};
        if (cairn::estimate(one).step_calls != cairn::estimate(two).step_calls) continue;
        if (cairn::fingerprint(one) == cairn::fingerprint(two)) continue;
        ++pairs;
        claim(refused(differs ? any{one} : any{two}, with) == other);
      }
  claim(pairs == 8);
  // Where a fingerprint takes too much work, numbers are compared, and the handle says so.
  auto const short_of_work = with.fingerprint_limit({.most_sums = 1});
  claim(refused(cairn::revolve{steps, differs ? 5 : 4}, short_of_work) == other);
  claim(short_of_work.compared() == cairn::plan_comparison::numbers);
  // Other options, and other calls.
  auto const options = thrown_by([&] {
    (void)cairn::gradient(step, h.x0, steps, h.seed, h.backward(), with.decided_by(differs ? 1 : 0));
  });
  claim(options.any && options.cause == collective_cause::other_plan && options.rank == other);
  auto const call = thrown_by([&] {
    if (differs) (void)cairn::checkpointed_loop(step, h.x0, steps, with);
    else (void)cairn::gradient(step, h.x0, steps, h.seed, h.backward(), with);
  });
  claim(call.any && call.cause == collective_cause::other_call && call.rank == other, call.text);
  // A plan that cannot be made on one rank.
  auto const none = thrown_by([&] {
    (void)cairn::gradient(step, h.x0, differs ? step_index{-1} : steps, h.seed, h.backward(), with);
  });
  claim(alike(none.text) && none.any && none.rank == other && none.text.find("cairn::uniform") != std::string::npos,
        none.text);
}

/// A sweep whose steps do not communicate, in which one rank throws at one of its calls.
struct breaking {
  long at = -1, calls = 0;
  void call() {
    if (calls++ == at) throw std::runtime_error{"call " + std::to_string(at)};
  }
  [[nodiscard]] state gradient(collective<> const& with, cairn::revolve const& plan) {
    return cairn::gradient(
        [this](state& x, step_index) { call(), x[0] *= 1.1; }, state{1.0}, plan,
        [this](state const&) { return call(), state{1.0}; },
        [this](state const&, state& bar, step_index) { call(), bar[0] *= 1.1; }, with,
        [this](cairn::event const& e) { if (e.moment() == cairn::moment::after) call(); });
  }
};
void an_exception_anywhere_is_the_same_error_on_all() {
  collective const with{MPI_COMM_WORLD};
  cairn::revolve const plan{6, 2};
  breaking counting;
  auto const expected = counting.gradient(with, plan);
  claim(counting.calls > 30, std::to_string(counting.calls));
  for (int rank = 0; rank < with.size(); ++rank)
    for (long at = rank; at < counting.calls; at += with.size()) {
      breaking b;
      if (with.rank() == rank) b.at = at;
      auto const seen = thrown_by([&] { (void)b.gradient(with, plan); });
      claim(seen.any && seen.rank == rank && seen.cause == collective_cause::exception, seen.text);
      claim(seen.text.find("call " + std::to_string(at)) != std::string::npos, seen.text);
      claim(seen.has_original == (with.rank() == rank));
      if (at / with.size() % 4 == 0) claim(alike(seen.text), seen.text);
    }
  // Nothing is left of all that.
  claim(breaking{}.gradient(with, plan) == expected);
  if (with.size() < 3) return;
  breaking b;  // two at once: the lower one is named
  if (with.rank() > 0) b.at = 3 * with.rank();
  auto const seen = thrown_by([&] { (void)b.gradient(with, plan); });
  claim(alike(seen.text) && seen.any && seen.rank == 1 && seen.has_original == (with.rank() > 0), seen.text);
}

void ranks_that_meet_between_actions_stop_early() {
  collective const with{MPI_COMM_WORLD};
  int const last = with.size() - 1;
  long ran = 0;
  auto const step = [&](double& x, step_index i) {
    if (with.rank() == last && i == 5) throw std::runtime_error{"five"};
    ++ran, x *= 1.01;
  };
  auto const adjoint = [](double, double& bar, step_index) { bar *= 1.01; };
  auto const seen =
      thrown_by([&] { (void)cairn::gradient(step, 1.0, cairn::store_all(1000), 1.0, adjoint, with.every(1)); });
  claim(seen.any && seen.rank == last && ran <= 6, std::to_string(ran));
}

void a_stop_request_ends_communicating_steps_at_one_action() {
  heat const h;
  int const last = h.size - 1;
  for (step_index const every : {1, 3}) {
    long ran = 0;
    collective const with{MPI_COMM_WORLD};
    auto const asked = with.stops_when([&] { return h.rank == last && ran >= 7; });
    auto const step = [&](state& x, step_index i) { ++ran, h.step(x, i); };
    auto const seen = thrown_by([&] {
      (void)cairn::gradient(step, h.x0, cairn::revolve{steps, 3}, h.seed, h.backward(), asked.every(every));
    });
    claim(seen.any && seen.rank == last && seen.cause == collective_cause::stop_request && !seen.has_original,
          seen.text);
    claim(alike(seen.text + std::to_string(ran)));
    claim(ran >= 7 && ran < 14, std::to_string(ran));
  }
  collective const with{MPI_COMM_WORLD};
  auto const at_once = thrown_by([&] {
    (void)cairn::gradient(h.forward(), h.x0, steps, h.seed, h.backward(), with.stops_when([&] { return h.rank == 0; }));
  });
  claim(at_once.any && at_once.rank == 0 && at_once.cause == collective_cause::stop_request);
}

void any_other_verb_can_run_as_a_sweep() {
  heat const h;
  collective const with{MPI_COMM_WORLD};
  claim(with.sweep(steps, [&] { return cairn::gradient(h.forward(), h.x0, steps, h.seed, h.backward()); }) ==
        h.expected());
  int calls = 0;
  with.sweep([&] { ++calls; });
  claim(calls == 1);
  auto const seen = thrown_by([&] {
    with.sweep([&] {
      if (h.rank == 0) throw 7;  // no std::exception
    });
  });
  claim(seen.any && seen.rank == 0 && seen.text.find("not a std::exception") != std::string::npos, seen.text);
  // An error among some of the ranks is one of their rank for all.
  MPI_Comm half = MPI_COMM_NULL;
  MPI_Comm_split(MPI_COMM_WORLD, h.rank % 2, h.rank, &half);
  auto const inner = thrown_by([&] {
    with.sweep([&] {
      collective{half}.sweep([&] {
        if (h.rank == 0) throw std::runtime_error{"in a half"};
      });
    });
  });
  claim(inner.any && inner.rank == 0 && inner.has_original == (h.rank % 2 == 0), inner.text);
  claim(alike(inner.text) && inner.text.find("in a half") != std::string::npos, inner.text);
  MPI_Comm_free(&half);
}

void the_users_communicator_is_left_alone() {
  int found = 0;
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &found, MPI_STATUS_IGNORE);
  claim(found == 0);
  auto const refused = [](auto call) {
    try {
      call();
    } catch (cairn::error const&) {
      return true;
    }
    return false;
  };
  collective const with{MPI_COMM_WORLD};
  claim(refused([] { (void)collective{MPI_COMM_NULL}; }));
  claim(refused([&] { (void)with.patience(-1); }));
  claim(refused([&] { (void)with.decided_by(with.size()); }));
  claim(refused([&] { (void)with.every(0); }));
}

}  // namespace

int main(int argc, char** argv) {
  return ranks::run(argc, argv, a_collective_changes_no_bit, parameters_are_arguments,
                    an_objective_is_differentiated_together, steps_run_backwards_together, a_device_sweeps_together,
                    runs_are_reversed_together, one_rank_decides_how_long_a_loop_is, any_rank_chooses,
                    another_plan_is_refused_before_the_first_step, an_exception_anywhere_is_the_same_error_on_all,
                    ranks_that_meet_between_actions_stop_early, a_stop_request_ends_communicating_steps_at_one_action,
                    any_other_verb_can_run_as_a_sweep, the_users_communicator_is_left_alone);
}
