// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file run_on_disk.hpp  One sweep whose states and sums outlive its process.
#include <cstdint>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <cairn/adapt/disk/detail/agreed.hpp>
#include <cairn/adapt/disk/detail/call_reports.hpp>
#include <cairn/adapt/disk/detail/checkpoint_files.hpp>
#include <cairn/adapt/disk/detail/choice_file.hpp>
#include <cairn/adapt/disk/detail/finished_runs.hpp>
#include <cairn/adapt/disk/detail/known_run.hpp>
#include <cairn/adapt/disk/detail/run_folder.hpp>
#include <cairn/adapt/disk/detail/run_journal.hpp>
#include <cairn/adapt/disk/detail/run_name.hpp>
#include <cairn/adapt/disk/disk_options.hpp>
#include <cairn/core/state_bytes.hpp>
#include <cairn/run/gradient.hpp>
#include <cairn/run/resume.hpp>

namespace cairn::detail {

/// The report of a run that was finished before.
inline void end_of_report(sweep_report& into, step_index steps, slot_index slots) noexcept {
  into.steps = steps, into.slots = slots;
  into.step_calls = into.state_bytes = 0;
  into.counted = {};
}

/// One sweep in a workspace over the files of its run; its step calls are counted also if it stops in an action.
template <class State, class Plan, class Store, class Options, class Unchanged>
struct sweep_over_files {
  sweep_over_files(Store& to, disk_report& into, run_folder& folder, slot_index slots, Unchanged const& unchanged)
      : end{into, folder, slots, unchanged}, store{to}, report{into} {}
  ~sweep_over_files() { report.step_calls += work.step_calls() - wide(store.skipped()); }

  forgets_if_changed<Unchanged> end;
  Store& store;
  disk_report& report;
  workspace<State, Plan, Store&, options_on_disk<State, Options>> work{store};
};

/// \param given  what the verb was given beside   \param all  the processes that run this sweep together, or `one_process`
/// \param parts  what the caller gave: `parts.p`, `parts.dp`, `parts.terms`, and the types of its functions
template <class Bar, class State, class Given, class Agreement, class Plan, class Parts, class Step, class X0,
          class Seed, class Adjoint>
Bar sweep_on_disk(Given const& given, Agreement const& all, std::string path, disk_options const& asked,
                  told_at_end const& told, Parts const& parts, Step& step, X0& x0, Plan const& plan, Seed&& seed,
                  Adjoint& adjoint) {
  using value_type = stored_as<State>;
  using of = parts_of<State, Parts>;
  using sums = run_sums<typename of::dp, typename of::terms>;
  using choices = choices_type<typename of::step>;
  using journal_type = run_journal<State, Step, sums, object_of<X0>, choices, Agreement>;
  using store_type = checkpoint_files<value_type, journal_type>;
  [[maybe_unused]] constexpr bool stored = check_stored<State>();
  check_disk_options(asked);
  disk_report& report = told.report();
  step_index const n = plan.steps();
  run_name name;
  trust known = name_given<of, Bar>(name, asked, parts).trusted(!asked.key.empty(), of::sums_on_the_way);
  if constexpr (!reads_bar<Bar, State>)
    if (known.record) known = {known.states, false, why_no_bar<Bar>};

  outer_folders const outer = open_runs(all, path, asked.scratch);  // before step 0 runs
  remove_forgotten(outer, path, asked.forget_after);
  agree_on_options(all, asked, known);
  run_id const held = held_now<of>(name.sum(), parts);
  std::uint64_t const held_bytes = name.sum().bytes();
  auto const unchanged = [&] { return held_now<of>(name.sum(), parts) == held; };
  name_loop<State>(name, parts, plan, step, x0, !asked.key.empty(), known);
  run_folder folder{outer, path, agreed_id(all, name.id()), n};
  folder.keep_name(name);
  if (asked.compress != nullptr) folder.compress(*asked.compress);
  report.folder = folder.path();
  report.why = known.why;
  journal_type journal{folder, report, &step, sums{{parts.terms}, parts.dp}, object_in(x0), choices_of(*parts.step),
                       asked, all};
  store_type store{folder, journal, copied_from<State>(x0),
                   as_stored<State>(x0, [](auto const& x) { return written_bytes(x); }), plan.leaf(), false,
                   asked.behind};
  store.reverses_by(adjoint);
  journal.watch(unchanged, held_bytes);
  if (known.record) journal.commits();
  journal.trusts_states(known.states);
  bool const looks = asked.resume != resume_rule::never;
  if (!looks) folder.begin_anew();
  else if (known.states) journal.choices().read();
  agree_on_choices(all, journal.choices());

  using sweep_type = sweep_over_files<State, Plan, store_type, decltype(given.options), decltype(unchanged)>;
  auto const ended = [&] {
    all.meet();
    if (journal.is_recorded()) folder.remove_slots();
    if (known.record && !remove_finished(outer, std::size_t(asked.keep), folder.id())) folder.remove();
  };
  // A sweep that uses what another process left. Where that turns out to be another trajectory, the run begins anew.
  auto const go_on = [&](auto const& how) -> std::optional<Bar> {
    told.tell();
    try {
      std::optional<Bar> bar;
      {
        sweep_type here{store, report, folder, plan.slots(), unchanged};
        try {
          bar.emplace(how(given.in(here.work)));
        } catch (nondeterminism_error const&) {  // an object is somewhere on its way
          if constexpr (!copied_state<State>) sweep{here.work, "cairn::gradient"}.states().go_back();
          throw;
        }
        ended();
      }
      return bar;
    } catch (nondeterminism_error const&) {
      if (!journal.begins_anew(asked.resume)) throw;
    }
    if constexpr (of::has_dp) set_zero(*parts.p, *parts.dp);
    return {};
  };

  if constexpr (reads_bar<Bar, State>) {
    if (looks && known.record) {
      Bar bar{};
      typename journal_type::partial_sum summed;
      auto const read_at = [&](std::int64_t open) {
        return folder.read_record(
            [&](auto& source) {
              summed = {};
              journal.read_record(bar, source, summed);
            },
            [open](file_head const& head) { return open < 0 || head.step == std::uint64_t(open); });
      };
      auto found = read_at(-1);
      bool const usable = found && journal.choices().reach(std::uint64_t(n));
      if (agree_on_record(all, found, usable, n, read_at)) {
        journal.adopt_all(summed);
        report.used = disk_use::record;
        report.resumed_at = step_index(found->step);
        if (found->step == 0) {
          report.finished = true;
          runs_of_process::here().taken(folder.id());
          if constexpr (Given::reports) end_of_report(*given.report, n, plan.slots());
          return bar;
        }
        journal.seam(step_index(found->step), found->state_hash);
        auto rest = go_on([&](auto const& here) {
          if (found->state_hash == 0 && known.states)
            as_stored<State>(x0, [&](auto const& x) { journal.check_stretch(x, plan.slots()); });
          resume_point<Bar> position{step_index(found->step), std::move(bar), n};
          return rest_of_sweep<State>(here, step, x0, plan, std::move(position), adjoint, parts.limit);
        });
        if (rest) return *std::move(rest);
      } else if (usable) report.why = "another rank does not have the record that this one has";
      if constexpr (of::has_dp) set_zero(*parts.p, *parts.dp);  // a record that is not whole may have changed it
    }
  }
  bool any = false;
  if (looks && known.states)
    any = any_state(
        all, folder, plan.slots(), [&](file_head const& head) { return journal.may_use(head); }, journal.live_state());
  if (any) {
    report.used = disk_use::states;
    auto all_of_it = go_on([&](auto const& here) {
      as_stored<State>(x0, [&](auto const& x) { journal.check_stretch(x, plan.slots()); });
      return sweep_from_the_way<Bar, State>(here, step, x0, plan, seed, adjoint, parts.limit);
    });
    if (all_of_it) return *std::move(all_of_it);
  }
  if (looks && report.why != why_other_states) tell_nearest(report, outer, folder, name);
  if (asked.resume == resume_rule::require) refuse_nothing_found(report.why, n);
  told.tell();
  sweep_type here{store, report, folder, plan.slots(), unchanged};
  if (parts.seed_goes != nullptr) *parts.seed_goes = true;
  Bar bar = one_sweep<Bar, State>(given.in(here.work), parts, parts.limit, step, x0, plan, std::forward<Seed>(seed), adjoint);
  ended();
  return bar;
}

}  // namespace cairn::detail
