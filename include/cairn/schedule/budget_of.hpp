// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file budget_of.hpp  A loop within a budget of memory, and of files, in the place of its plan: planned by counting
/// bytes, before anything runs.
#include <cstdint>
#include <optional>
#include <type_traits>
#include <cairn/core/bytes.hpp>
#include <cairn/core/error.hpp>
#include <cairn/core/sweep_bytes.hpp>
#include <cairn/rules/detail/most_within.hpp>
#include <cairn/rules/detail/sweep_needs.hpp>
#include <cairn/rules/frames_needed.hpp>
#include <cairn/rules/replay_check.hpp>
#include <cairn/schedule/revolve.hpp>

namespace cairn {

/// A budget of memory, without files.
struct no_files {};

namespace detail {
/// Who plans with the files of a folder, and the type of these plans.
template <class Folder>
struct planned_in { using plans = revolve; };
template <class Folder>
  requires requires { typename Folder::keeps_runs::plans; }
struct planned_in<Folder> : Folder::keeps_runs {};
struct nothing_beside {
  constexpr wide operator()(slot_index, wide) const noexcept { return 0; }
};
}  // namespace detail

/// A loop of a given length within a budget of memory, the other checkpoints in files: `budget_of{n, "512MiB", run}` or
/// `budget_of{n, "512MiB", run, "20GB"}` in the place of a plan, for a `disk run`, which is given to the verb, too.
///
/// Counts alone decide, so that a process that goes on after a kill has the same plan. With a limit the files are as
/// many as fit it; more bytes of either kind are then never more step calls. Without one they are as many as let no
/// step run more than twice: each further one would save one step call, and cost a write and a read.
/// \tparam Folder  type of where the files go, such as `disk`; without a folder see `budget_of<no_files>`
/// \throws infeasible_budget   before any step runs, with the least budget of memory, if no plan fits
/// \ingroup start
template <class Folder = no_files>
struct budget_of {
  using files = detail::planned_in<Folder>;  ///< who makes its plans
  using plans = typename files::plans;       ///< their type
  static_assert(!std::is_same_v<plans, revolve>,
                "cairn: the third part of a budget says where files go: give a cairn::disk, as in cairn::budget_of{n, "
                "bytes, cairn::disk{folder}, bytes_on_disk}");

  step_index steps;                  ///< loop length, >= 0
  byte_size bytes;                   ///< the budget of memory
  std::optional<byte_size> on_disk;  ///< limit of the files of checkpoints; those of records are beside it
  wide beside = 0;                   ///< memory that the files take, whatever their number
  slot_index states = 0;             ///< states in memory while files are written and read behind the sweep

  /// \param limit  without one, as many files as let no step run more than twice
  constexpr budget_of(step_index n, byte_size memory, Folder const& folder, std::optional<byte_size> limit = {})
      : steps{n}, bytes{memory}, on_disk{limit} {
    if constexpr (requires { files::memory_bytes(folder, 0); })
      beside = files::memory_bytes(folder, 0), states = files::states_behind(folder);
  }
};

/// A loop of a given length within a memory budget: `budget_of{10'000, "64MB"}` in the place of a plan.
///
/// The library counts the bytes of x0, of bar, of p and dp, and of what a sweep keeps, all from the values and types
/// that it is given, and takes the `revolve` with the most slots that fit; a slot for every state if all fit. Nothing
/// runs but, for the adjoint of a tool, one step that says how large its tape is, so the plan is the same on every
/// machine, and a larger budget never gives more step calls. Not counted: heap memory that steps and adjoints take and
/// free while they run, and data that they refer to. Sizes that change during the loop, and recorded tapes, must be
/// measured: `measured{budget}`.
/// \throws infeasible_budget   before any step runs, with the least budget, if no plan fits
/// \ingroup start
template <>
struct budget_of<no_files> {
  step_index steps = 0;  ///< loop length, >= 0
  byte_size bytes = {};  ///< the budget

  /// The plan for a sweep with these sizes. \param verify  its replay check
  /// \param beside  beside(slots, state): bytes that a run on disk takes for itself, with states of so many bytes
  /// \throws infeasible_budget, invalid_plan
  template <class Beside = detail::nothing_beside>
  [[nodiscard]] constexpr revolve plan_for(sweep_form form, sweep_sizes const& sizes,
                                           replay_check verify = replay_check::off, Beside beside = {}) const {
    slot_fit const found =
        detail::most_within(bytes.count(), 1, useful_slots(steps), [&](slot_index slots) {
          return bytes_of_plan(slots, form, sizes, verify) + beside(slots, sizes.state);
        });
    if (!found.fits) refuse(found.bytes);
    return {steps, found.slots};
  }
  /// The bytes of a sweep of `revolve{steps, slots}` at its peak.   \pre slots >= 1
  [[nodiscard]] constexpr wide bytes_of_plan(slot_index slots, sweep_form form, sweep_sizes const& sizes,
                                             replay_check verify = replay_check::off) const {
    revolve const plan{steps, slots};
    return detail::parts_with(plan, plan.slots(), form, sizes, verify).total();
  }

 private:
  [[noreturn]] void refuse(wide least) const {
    throw infeasible_budget{
        "cairn::budget_of",
        "no plan keeps the sweep within the budget",
        {{"budget", bytes.count()}, {"least", least}, {"steps", steps}},
        "give at least that many bytes, or a state or an adjoint that is smaller"};
  }
};
/// Of memory alone.
budget_of(step_index, byte_size) -> budget_of<no_files>;

}  // namespace cairn
