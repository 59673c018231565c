// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file run_on_disk.hpp  One sweep whose states and sums outlive its process.
#include <cstdint>
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
#include <cairn/adapt/disk/detail/trust.hpp>
#include <cairn/adapt/disk/disk_options.hpp>
#include <cairn/core/state_bytes.hpp>
#include <cairn/run/gradient.hpp>
#include <cairn/run/resume.hpp>

namespace cairn::detail {

/// The report of a run that was finished before.
inline void end_of_report(sweep_report& into, step_index steps, slot_index slots) noexcept {
  into.steps = steps, into.slots = slots;
  into.step_calls = into.state_bytes = 0;
}

/// \param all  the processes that run this sweep together, or `one_process`
/// \param parts  what the caller gave: `parts.p`, `parts.dp`, `parts.terms`, and the types of its functions
template <class Bar, class State, class Agreement, class Plan, class Parts, class Step, class X0, class Seed,
          class Adjoint, class... Last>
Bar sweep_on_disk(Agreement const& all, std::string path, disk_options const& asked, told_at_end const& told,
                  Parts const& parts, Step& step, X0& x0, Plan const& plan, Seed&& seed, Adjoint& adjoint,
                  Last&&... last) {
  using value_type = stored_as<State>;
  using of = parts_of<State, Parts>;
  using sums = run_sums<typename of::dp, typename of::terms>;
  using choices = choices_type<typename of::step>;
  using journal_type = run_journal<State, Step, sums, object_of<X0>, choices, Agreement>;
  using store_type = checkpoint_files<value_type, journal_type>;
  static_assert(check_stored<State>());
  check_disk_options(asked);
  disk_report& report = told.report();
  step_index const n = plan.steps();
  trust known = of::known(!asked.key.empty());
  if constexpr (!reads_bar<Bar, State>)
    if (known.record) known = {known.states, false, why_no_bar<Bar>};
  if constexpr (of::sums_on_the_way && of::seed_captures)  // nor are the terms that it has summed believed
    if (!known.record) known.states = false;

  descriptor const outer = open_runs(all, path);  // before step 0 runs
  agree_on_options(all, asked, known);
  run_folder folder{outer, path, agreed_id(all, id_of_run<State>(asked.key, parts, plan, step, x0)), n};
  if (asked.compress != nullptr) folder.compress(*asked.compress);
  report.folder = folder.path();
  report.why = known.why;
  journal_type journal{folder, &step, sums{{parts.terms}, parts.dp}, object_in(x0), choices_of(*parts.step),
                       asked.seconds_between_failures, asked.commit_every, all};
  store_type store{folder, journal, copied_from<State>(x0),
                   as_stored<State>(x0, [](auto const& x) { return written_bytes(x); })};
  if (known.record) journal.commits();
  bool const looks = asked.resume != resume_rule::never;
  if (!looks) folder.begin_anew();
  else if (known.states) journal.choices().read();
  agree_on_choices(all, journal.choices());

  auto const go = [&](auto const& how) -> Bar {
    told.tell();
    auto const run = [&]<class Watching, class Asked>(auto&&, Watching&& watching, Asked options) -> Bar {
      workspace<State, Plan, store_type&, workspace_options<Asked>> work{store};
      Bar bar = how(work, watching, options);
      report.step_calls = work.step_calls();
      return bar;
    };
    Bar bar = in_their_places<State, Plan>(run, std::forward<Last>(last)...);
    journal.tell(report);
    all.meet();
    folder.remove_slots();
    if (known.record) remove_finished(outer, std::size_t(asked.keep));
    return bar;
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
      bool const other_build = found && found->build != build_id() && asked.key.empty();
      bool const usable = found && !other_build && journal.choices().reach(std::uint64_t(n));
      if (other_build)
        report.why = "the program was built anew since; give a key to say that its functions are the same";
      if (agree_on_record(all, found, usable, n, read_at)) {
        journal.adopt_all(summed);
        report.used = disk_use::record;
        report.resumed_at = step_index(found->step);
        if (found->step == 0) {
          if constexpr (count_of_last<last_kind::report, State, Plan, Last...> > 0)
            end_of_report(last_of<last_kind::report, State, Plan>(own_workspace{}, last...), n, plan.slots());
          return bar;
        }
        journal.seam(step_index(found->step), found->state_hash);
        return go([&](auto& work, auto& watching, auto options) {
          return rest_of_sweep<State>(step, x0, plan, resume_point<Bar>{step_index(found->step), std::move(bar), n},
                                      adjoint, work, watching, options);
        });
      }
      if (usable) report.why = "another rank does not have the record that this one has";
      if constexpr (of::has_dp) set_zero(*parts.p, *parts.dp);  // a record that is not whole may have changed it
    }
  }
  bool any = false;
  if (looks && known.states)
    any = any_state(all, folder, plan.slots(), [&](file_head const& head) { return journal.may_use(head); });
  if (any) {
    report.used = disk_use::states;
    as_stored<State>(x0, [&](auto const& x) { journal.check_stretch(x, plan.slots()); });
    return go([&](auto& work, auto& watching, auto options) {
      return sweep_from_the_way<Bar, State>(step, x0, plan, std::forward<Seed>(seed), adjoint, work, watching, options);
    });
  }
  if (asked.resume == resume_rule::require) refuse_nothing_found(report.why, n);
  return go([&](auto& work, auto& watching, auto options) {
    return one_sweep<Bar, State, Plan>(step, x0, plan, std::forward<Seed>(seed), adjoint, work, watching, options);
  });
}

}  // namespace cairn::detail
