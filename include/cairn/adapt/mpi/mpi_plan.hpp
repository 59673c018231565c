// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file mpi_plan.hpp  One plan for all ranks, within the budget of each.
#include <mpi.h>

#include <cstdint>
#include <optional>
#include <type_traits>
#include <utility>
#include <vector>
#include <cairn/adapt/mpi/collective.hpp>
#include <cairn/core/bytes.hpp>
#include <cairn/plan/loop/estimate.hpp>
#include <cairn/plan/loop/plan_within.hpp>
#include <cairn/plan/loop/planned.hpp>
#include <cairn/plan/loop/planning_options.hpp>
#include <cairn/rules/workload.hpp>

namespace cairn {
namespace detail {

/// What the rank that decides passes to the others.
struct handed_workload {
  workload work;
  std::uint64_t budget = 0;
};
static_assert(std::is_trivially_copyable_v<handed_workload>);

/// Enlarges each size of `joint` to that of another rank's loop, scaled to the budget of `joint`, if that is larger: a
/// plan that fits the result fits both loops.
inline void widen(handed_workload& joint, handed_workload const& other) {
  auto const grown = [&](wide size) {
    constexpr wide most = wide{1} << 62;
    if (size == unknown_bytes) return size;  // and nothing is larger
    return size > most ? most : (size * joint.budget + other.budget - 1) / (other.budget > 0 ? other.budget : 1);
  };
  auto const take = [&](wide& size, wide theirs) {
    if (wide const large = grown(theirs); large > size) size = large;
  };
  wide initial = initial_of(joint.work);
  take(initial, initial_of(other.work));
  joint.work.initial_bytes = initial;
  // An unused frame of unknown size counts as a whole state.
  if (other.work.state_inline_bytes == 0) joint.work.state_inline_bytes = 0;
  else if (joint.work.state_inline_bytes > 0) take(joint.work.state_inline_bytes, other.work.state_inline_bytes);
  joint.work.adjoint_bytes = adjoint_of(joint.work);
  take(joint.work.adjoint_bytes, adjoint_of(other.work));
  take(joint.work.state_bytes, other.work.state_bytes);
  take(joint.work.tape_bytes, other.work.tape_bytes);
  take(joint.work.tape_inline_bytes, other.work.tape_inline_bytes);
  take(joint.work.tape_step_bytes, other.work.tape_step_bytes);
}
/// The largest number that ranks compare.
inline constexpr std::uint64_t most_compared = std::uint64_t{1} << 62;
/// The factor by which `need` bytes must shrink to fit into `budget`, in units of 2^-32; 1 if they fit.
[[nodiscard]] inline std::uint64_t share_that_fits(wide need, std::uint64_t budget) noexcept {
  return need <= wide(budget) ? std::uint64_t{1} << 32 : std::uint64_t((wide(budget) << 32) / need);
}

}  // namespace detail

/// One plan for all ranks of a communicator, each with its own part of the state and its own budget. The rank with the
/// least room decides: the one whose own cheapest plan takes the most step calls. All ranks make the plan from that
/// rank's numbers, and compare it. If it takes more memory than another rank has, as when tapes are large on one rank
/// and states on another, the plan is made for a loop that is as large as the largest in every part.
/// \param budget  this rank's bytes; see `node_place::share`
/// \param work  this rank's workload; steps must be the same on all ranks
/// \param options  as for `plan_within`, the same on all ranks
/// \returns the plan, the same on all ranks; `cost` and `memory` are this rank's, `proof` is that of the rank that
///   decided
/// \throws collective_error   on all ranks: if no plan fits on one of them, or a workload is invalid
/// Cost: on each rank twice that of `plan_within`, rarely more; some reductions.
[[nodiscard]] inline planned mpi_plan(MPI_Comm comm, byte_size budget, workload const& work,
                                      planning_options const& options = {}) {
  constexpr char const* operation = "cairn::mpi_plan";
  detail::rendezvous const ranks{comm};
  return ranks.guarded(operation, [&] {
    auto own = plan_within(budget, work, options);
    detail::sent_plan shared;
    shared.steps = std::uint64_t(work.steps.value_or(-1));
    ranks.begin(operation, shared);
    // The most step calls, and the lowest rank with that many.
    auto const calls = own.cost.step_calls < detail::most_compared ? std::uint64_t(own.cost.step_calls)
                                                                   : detail::most_compared;
    bool const most = ranks.least(operation, detail::most_compared - calls) == detail::most_compared - calls;
    auto const me = std::uint64_t(ranks.ranks().rank());
    auto const decider = ranks.least(operation, most ? me : std::uint64_t(ranks.ranks().size()));
    detail::handed_workload handed{work, budget.count()};
    ranks.ranks().give(&handed, sizeof handed, int(decider));
    std::optional<planned> made;
    if (decider == me) made.emplace(std::move(own));
    for (bool widened = false;;) {
      if (!made) made.emplace(plan_within(byte_size{handed.budget}, handed.work, options));
      auto const mine = detail::plan_of(any_schedule{made->schedule}, work, made->by, made->with);
      made->cost = mine.cost;
      made->memory = mine.memory;
      auto const share = ranks.least(operation, detail::share_that_fits(mine.cost.memory_bytes, budget.count()));
      if (share >= std::uint64_t{1} << 32) break;
      made.reset();
      if (widened) {  // tables and hashes do not shrink with a budget
        handed.budget = std::uint64_t((wide(handed.budget) * share) >> 32);
        continue;
      }
      widened = true;
      std::vector<detail::handed_workload> all(std::size_t(ranks.ranks().size()));
      detail::handed_workload const given{work, budget.count()};
      ranks.ranks().gather(&given, all.data(), sizeof given);
      for (auto const& other : all) detail::widen(handed, other);
    }
    ranks.begin(operation, detail::words_of(made->schedule, ranks.limit));
    return std::move(*made);
  });
}

}  // namespace cairn
