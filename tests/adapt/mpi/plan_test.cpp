// SPDX-License-Identifier: Apache-2.0
// One plan for ranks with other states and budgets, and the check of an adjoint through messages.
#include <cstdint>
#include <stdexcept>
#include <string>
#include "adapt/mpi/ranks.hpp"

namespace {

using namespace ranks;
using cairn::byte_size;
using cairn::collective;
using cairn::workload;

struct rank_place {
  int rank = 0, size = 1;
  rank_place() {
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
  }
};
workload loop_of(cairn::wide state_bytes) {
  return {.steps = 100, .state_bytes = state_bytes, .initial_bytes = 0, .adjoint_bytes = state_bytes};
}
/// All ranks have one plan, which keeps within this rank's budget.
void fits_on_all(cairn::planned const& plan, byte_size budget, workload const& work) {
  auto const cost = cairn::estimate(plan.schedule, work);
  claim(cost.memory_bytes <= cairn::wide(budget.count()), std::to_string(std::uint64_t(cost.memory_bytes)));
  claim(plan.cost.memory_bytes == cost.memory_bytes);
  claim(alike(cairn::fingerprint(plan.schedule).text()));
}

void the_rank_with_the_least_room_decides() {
  rank_place const at;
  for (int least = 0; least < at.size; ++least) {
    // The same state everywhere, and one budget that is smaller.
    auto const work = loop_of(1000);
    byte_size const budget{std::uint64_t(at.rank == least ? 9000 : 40000 + 1000 * at.rank)};
    auto const plan = cairn::mpi_plan(MPI_COMM_WORLD, budget, work);
    fits_on_all(plan, budget, work);
    auto const alone = cairn::plan_within(byte_size{9000}, work);
    claim(cairn::fingerprint(plan.schedule) == cairn::fingerprint(alone.schedule));
    // The same budget everywhere, and one state that is larger: its rank decides, with its own numbers.
    auto const other = loop_of(at.rank == least ? 3000 : 1000 + 10 * cairn::wide(at.rank));
    auto const larger = cairn::mpi_plan(MPI_COMM_WORLD, byte_size{30000}, other);
    fits_on_all(larger, byte_size{30000}, other);
    claim(cairn::fingerprint(larger.schedule) ==
          cairn::fingerprint(cairn::plan_within(byte_size{30000}, loop_of(3000)).schedule));
    // Small changes of every kind.
    for (std::uint64_t k = 1; k < 6; ++k) {
      auto mixed = loop_of(500 * k + 17 * cairn::wide(at.rank));
      mixed.adjoint_bytes = 400 + 3000 * cairn::wide(at.rank == least);
      mixed.form.adjoint = cairn::adjoint_form::leaf;
      mixed.tape_bytes = 100;
      mixed.tape_step_bytes = at.rank == least ? 10 : 900;
      byte_size const own{40000 + 5000 * std::uint64_t(at.rank)};
      fits_on_all(cairn::mpi_plan(MPI_COMM_WORLD, own, mixed), own, mixed);
    }
  }
}

void no_plan_on_one_rank_is_an_error_on_all() {
  rank_place const at;
  int const poor = at.size - 1;
  auto const seen = thrown_by([&] {
    (void)cairn::mpi_plan(MPI_COMM_WORLD, byte_size{std::uint64_t(at.rank == poor ? 100 : 50000)}, loop_of(1000));
  });
  claim(alike(seen.text) && seen.any && seen.rank == poor && seen.has_original == (at.rank == poor), seen.text);
  if (at.size == 1) return;
  auto const other = thrown_by([&] {
    auto work = loop_of(1000);
    work.steps = 100 + (at.rank == poor ? 1 : 0);
    (void)cairn::mpi_plan(MPI_COMM_WORLD, byte_size{50000}, work);
  });
  claim(other.any && other.rank == poor && other.cause == cairn::collective_cause::other_plan, other.text);
}

void a_node_is_shared() {
  rank_place const at;
  auto const place = cairn::place_on_node(MPI_COMM_WORLD);
  claim(place.size == at.size && place.rank == at.rank);  // CTest runs on one machine
  claim(place.share(byte_size{1000}).count() == std::uint64_t(1000 / at.size));
}

void check_adjoint_sees_the_whole_state() {
  ring const h{MPI_COMM_WORLD};
  collective const with{MPI_COMM_WORLD};
  auto const x0 = h.part(12);
  auto const step = [&](state& x, step_index i) { h.step(x, i); };
  auto const right = [&](state const& x, state& bar, step_index i) { h.adjoint(x, bar, i); };
  auto const judged = [&](auto const& adjoint) {
    auto const report =
        cairn::check_adjoint(step, adjoint, cairn::with_constants{x0}, 4, with, {.most_steps = 4, .directions = 1});
    claim(alike(report.text()), report.text());
    claim(report.numbers == 12);
    return report;
  };
  auto const sound = judged(right);
  claim(sound.passed(), sound.text());
  // Wrong on only one rank, in one number.
  int const one = h.size - 1;
  auto const wrong = judged([&](state const& x, state& bar, step_index i) {
    h.adjoint(x, bar, i);
    if (h.rank == one && i == 3) bar[1] *= 1.001;
  });
  claim(wrong.fault == cairn::adjoint_fault::wrong_adjoint && wrong.step == 3, wrong.text());
  claim(wrong.number == 12 * one / h.size + 1, wrong.text());
  // The halo is forgotten: each piece by itself is still differentiated as if it had no neighbours.
  auto const alone = judged([&](state const& x, state& bar, step_index i) {
    auto const old = bar;
    h.adjoint(x, bar, i);
    if (h.size > 1) bar.front() -= 0.2 * h.neighbours(old).first;
  });
  claim(alone.passed() == (h.size == 1), alone.text());

  // A reduction in the step, its adjoint, and a bar with a parameter after the state's numbers.
  struct mixing {
    state x;
    double parameter = 0;
  };
  double const p = 0.3;
  auto const sum = [](double v) {
    double all = 0;
    MPI_Allreduce(&v, &all, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    return all;
  };
  auto const total = [&](state const& x) {
    double own = 0;
    for (double const v : x) own += v;
    return sum(own);
  };
  auto const mix = [&](state& x, step_index) {
    double const mean = total(x) / 12;
    for (double& v : x) v += p * mean * v;
  };
  auto const unmix = [&](state const& x, mixing& bar, step_index) {
    double const mean = total(x) / 12;
    double own = 0;
    for (std::size_t k = 0; k < x.size(); ++k) own += p * x[k] * bar.x[k];
    bar.parameter += mean * own / p;
    double const through = sum(own) / 12;
    for (std::size_t k = 0; k < x.size(); ++k) bar.x[k] = bar.x[k] * (1 + p * mean) + through;
  };
  auto const seed = [](state const& x) { return mixing{x, 0}; };
  auto const mixed = cairn::check_adjoint(mix, unmix, x0, 3, seed, with, {.most_steps = 2, .directions = 1});
  claim(alike(mixed.text()) && mixed.passed(), mixed.text());
  auto const local = cairn::check_adjoint(
      mix,
      [&](state const& x, mixing& bar, step_index i) {
        unmix(x, bar, i);
        if (h.rank == 0) bar.x[0] += 0.01 * bar.x[1];
      },
      cairn::with_constants{x0}, 3, seed, with.every(1), {.most_steps = 2, .directions = 1});
  claim(!local.passed() && local.number == 0, local.text());
  // What a step throws on one rank ends the check on all.
  auto const thrown = thrown_by([&] {
    (void)cairn::check_adjoint(
        [&](state& x, step_index i) {
          if (i == 2 && h.rank == one) throw std::runtime_error{"no step"};
          for (double& v : x) v *= 1.1;
        },
        [](state const&, state& bar, step_index) { for (double& v : bar) v *= 1.1; }, x0, 4, with);
  });
  claim(alike(thrown.text) && thrown.any && thrown.rank == one, thrown.text);
}

}  // namespace

int main(int argc, char** argv) {
  return ranks::run(argc, argv, the_rank_with_the_least_room_decides, no_plan_on_one_rank_is_an_error_on_all,
                    a_node_is_shared, check_adjoint_sees_the_whole_state);
}
