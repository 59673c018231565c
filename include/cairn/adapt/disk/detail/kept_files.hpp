// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file kept_files.hpp  The store of a run that is kept, and what another process has left for it.
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <cairn/adapt/disk/detail/agreed.hpp>
#include <cairn/adapt/disk/detail/call_reports.hpp>
#include <cairn/adapt/disk/detail/checkpoint_files.hpp>
#include <cairn/adapt/disk/detail/finished_runs.hpp>
#include <cairn/adapt/disk/detail/known_run.hpp>
#include <cairn/adapt/disk/detail/run_folder.hpp>
#include <cairn/adapt/disk/detail/run_journal.hpp>
#include <cairn/adapt/disk/detail/run_name.hpp>
#include <cairn/adapt/disk/disk_options.hpp>
#include <cairn/core/state_bytes.hpp>
#include <cairn/store/store.hpp>

namespace cairn::detail {

/// Goes on with the forward run of another process from its checkpoints, and with a reverse from its record if that
/// began with the same adjoint of the final state.
/// \tparam Step  as the run keeps it   \tparam Parts  what the caller gave
/// \tparam Agreement  of the processes that run it together, or `one_process`
template <class State, class Step, class Parts, class X0, class Agreement>
class kept_files {
  using of = parts_of<State, Parts>;
  using value_type = stored_as<State>;
  using sums = kept_sums<typename of::terms>;
  using journal_type = run_journal<State, Step, sums, object_of<X0>, choices_type<typename of::step>, Agreement>;
  using files_type = checkpoint_files<value_type, journal_type>;
  static constexpr bool stored = check_stored<State>();

 public:
  static constexpr bool may_lose = true, may_end_sweeps = true, looks_ahead = true;

  /// \param step  not yet where the run keeps it
  template <class Plan, class StepNow>
  kept_files(std::string const& path, disk_options const& asked, std::shared_ptr<call_reports> reports,
             Parts const& parts, StepNow& step, X0& x0, Plan const& plan, Agreement const& all)
      : all_{std::make_unique<everything>(path, asked, std::move(reports), parts, step, x0, plan, all)} {}

  void begin(sweep_shape const& shape) { all_->files.begin(shape); }
  [[nodiscard]] slot_index extra_frames() const noexcept { return all_->files.extra_frames(); }
  [[nodiscard]] frame_id frame(slot_index slot) const noexcept { return all_->files.frame(slot); }
  [[nodiscard]] step_index at(slot_index slot) const noexcept { return all_->files.at(slot); }
  [[nodiscard]] std::size_t bytes(tier where) const noexcept { return all_->files.bytes(where); }
  void note_hash(step_index i, std::uint64_t hash, std::uint64_t before) noexcept {
    all_->files.note_hash(i, hash, before);
  }
  template <class Fn>
  void each_hash(Fn const& f) { all_->files.each_hash(f); }
  void is_wrong() noexcept { all_->files.is_wrong(); }
  template <class Frames>
  [[nodiscard]] bool save(Frames& frames, place where, step_index i, frame_id k) {
    return all_->files.save(frames, where, i, k);
  }
  template <class Frames>
  [[nodiscard]] frame_id load(Frames& frames, place where, step_index i) { return all_->files.load(frames, where, i); }
  template <class Frames>
  void drop(Frames& frames, place where) { all_->files.drop(frames, where); }
  template <class Frames>
  void settle(Frames& frames) { all_->files.settle(frames); }
  template <class Look>
  void reversing(step_index open, Look const& look) { all_->files.reversing(open, look); }
  template <class Look>
  void compares(step_index open, Look const& look) { all_->files.compares(open, look); }
  template <class Look>
  void notes(step_index open, Look const& look) { all_->files.notes(open, look); }
  template <class Bar>
  void reversed(step_index open, Bar const& bar) { all_->files.reversed(open, bar); }
  [[nodiscard]] bool ends_at(step_index open) const noexcept { return all_->files.ends_at(open); }
  void runs_beside(caller_beside* other) noexcept { all_->files.runs_beside(other); }
  [[nodiscard]] bool is_asked() const noexcept { return all_->files.is_asked(); }
  template <class Frames, class Look>
  [[nodiscard]] bool stops(Frames& frames, step_index i, Look const& look) {
    return all_->files.stops(frames, i, look);
  }
  template <class Look>
  [[noreturn]] void ends(step_index i, step_index from, Look const& look) { all_->files.ends(i, from, look); }
  template <class Frames>
  void ends_after(Frames& frames, step_index open) { all_->files.ends_after(frames, open); }
  [[nodiscard]] step_index live_at() const noexcept { return all_->files.live_at(); }
  void skips(step_index from) noexcept { all_->files.skips(from); }
  [[nodiscard]] step_index skipped() noexcept { return all_->files.skipped(); }
  [[nodiscard]] bool read_live(step_index i, value_type& into) { return all_->files.read_live(i, into); }

  /// Whether the state of the record is compared by its hash; otherwise a stretch between two states is.
  [[nodiscard]] bool knows_seam() const noexcept { return all_->journal.seam_is_open(); }
  /// Called when a sweep, or a part of one, begins, with the step where it is now.
  void runs(Step& step) noexcept { all_->journal.runs(step); }
  /// The states of another process are used.   \throws nondeterminism_error   if it had another arithmetic
  void check_stretch(value_type const& x0) { all_->journal.check_stretch(x0, all_->slots); }
  /// Whether the forward run goes on where another process was.
  [[nodiscard]] bool goes_on() const noexcept { return all_->states; }
  /// What it left is another trajectory. Returns whether the run begins anew.
  [[nodiscard]] bool begins_anew() { return all_->begins_anew(); }
  /// The length of the loop if another process was at its turn, left the final state and has begun to go back; otherwise
  /// -1: then a reverse is likely to go on from its record, and needs no forward run.
  [[nodiscard]] step_index turned_at() const {
    everything const& all = *all_;
    if (!all.looks || !all.trusted) return -1;
    step_index const own = all.folder.has_record() ? all.files.final_steps() : -1;
    return all.journal.agreed().same(std::uint64_t(own + 1)) ? own : -1;
  }
  [[nodiscard]] bool read_final(step_index n, value_type& into) { return all_->files.read_final(n, into); }
  void keep_final(step_index n, value_type const& state) { all_->files.keep_final(n, state); }
  void initial_is_in(frame_id kept) noexcept { all_->files.initial_is_in(kept); }
  /// A reverse by this adjoint is about to begin.
  template <class Adjoint, class DP>
  void reverses_by(Adjoint const& adjoint, DP* dp) {
    everything& all = *all_;
    all.journal.agreed().goes_on_in("cairn::reverse");
    all.files.reverses_by(adjoint);
    if constexpr (of::is_kept) {
      all.look_at_adjoint = [&adjoint, named = all.named_code](id_sum& sum, loaded_code* code) {
        contents added{sum, code, named};
        added.add(without_word(adjoint));
        added.template add_type<DP>();
        return added.whole();
      };
      loaded_code code;
      all.name.sum().begin();
      bool const seen = all.look_at_adjoint(all.name.sum(), &code);
      all.adjoint = all.name.sum().value().words[0];
      all.trusted = all.known.record && (all.keyed || seen);
      all.trusted = on_all(all.journal.agreed(), all.trusted);  // one may have a key
      all.adjoint_held = all.held();
      all.journal.sums().dp = nullptr;
      if constexpr (!std::is_same_v<DP, no_params>) all.journal.sums().are_in(*dp);
    }
    all.journal.commits(false);
  }
  /// The adjoint of state `open`, from which the reverse goes on, in the place of that of the final state; -1 if it
  /// begins there. Records are written from now on.
  template <class Bar>
  [[nodiscard]] step_index take_up([[maybe_unused]] step_index steps, [[maybe_unused]] Bar& bar) {
    if constexpr (reads_bar<Bar, State>) {
      everything& all = *all_;
      told_at_end const tells{*all.reports, all.report};
      if (!all.trusted) {
        if (all.known.record) all.report.why = why_unknown_part[std::size_t(run_part::adjoint)];
        return -1;
      }
      id_sum seed;
      seed.number(all.adjoint);
      {
        loaded_code code;  // whose memory is given back before a record is read
        contents{seed, &code, all.named_code}.template add_type<Bar>();
      }
      all.journal.write_bar(bar, seed);
      all.journal.sums().add_to(seed);
      all.journal.commits(true, {steps, seed.value().words[0]});
      if (!all.looks) return -1;
      Bar read{};
      typename journal_type::partial_sum of_terms;
      std::shared_ptr<void> before;  // another one may lack the record that is read here
      if constexpr (Agreement::together) before = all.journal.sums().copied();
      auto const read_at = [&](std::int64_t open) {
        return all.folder.read_record(
            [&](auto& source) { all.journal.read_record(read, source, of_terms); },
            [&](file_head const& head) {
              return head.owner != all.folder.owner() &&
                     (open < 0 || head.step == std::uint64_t(open));
            });
      };
      std::optional<file_head> found;
      if (all.journal.choices().reach(std::uint64_t(steps))) found = read_at(-1);
      if (bool const usable = bool(found); !agree_on_record(all.journal.agreed(), found, usable, steps, read_at)) {
        all.journal.sums().become(before);
        if (usable) all.report.why = "another rank does not have the record that this one has";
        return -1;
      }
      bar = std::move(read);
      all.journal.seam(step_index(found->step), found->state_hash);
      all.report.used = disk_use::record;
      all.report.finished = found->step == 0;
      if (all.report.finished) runs_of_process::here().taken(all.folder.id());
      return all.report.resumed_at = step_index(found->step);
    } else {
      told_at_end const tells{*all_->reports, all_->report};
      all_->report.why = why_no_bar<Bar>;
      return -1;
    }
  }
  /// A reverse has ended.
  void ended(wide step_calls) {
    everything& all = *all_;
    told_at_end const tells{*all.reports, all.report};
    all.report.step_calls = step_calls;
    all.journal.agreed().meet();
    if (all.journal.is_recorded()) all.folder.remove_slots();
    all.looks = false;
    if (all.trusted) (void)remove_finished(all.outer, all.keep, all.folder.id());  // this one may be reversed again
  }

 private:
  struct everything {
    template <class Plan, class StepNow>
    everything(std::string path, disk_options const& asked, std::shared_ptr<call_reports> into, Parts const& parts,
               StepNow& step, X0& x0, Plan const& plan, Agreement const& all)
        : reports{(check_disk_options(asked), std::move(into))},
          outer{open_runs(all, path, asked.scratch)},  // before step 0 runs
          known{known_of(all, asked, parts)},
          folder{outer, path, agreed_id(all, id_of(parts, step, x0, plan, !asked.key.empty())), steps_of_run(plan)},
          journal{folder, report, nullptr, sums{{parts.terms}}, object_in(x0), choices_of(*parts.step), asked, all},
          files{folder, journal, copied_from<State>(x0),  // until the run has it in a frame
                as_stored<State>(x0, [](auto const& x) { return written_bytes(x); }), plan.leaf(),
                is_open_plan<Plan>, asked.behind},
          keep{std::size_t(asked.keep)},
          slots{plan.slots()},
          looks_for{asked.resume},
          keyed{!asked.key.empty()},
          named_code{!asked.code.empty()},
          looks{asked.resume != resume_rule::never},
          trusted{known.record} {
      folder.keep_name(name);
      remove_forgotten(outer, path, asked.forget_after);
      if constexpr (of::has_params) params = parts.p;
      adjoint_held = held();
      journal.watch(unchanged, name.sum().bytes());
      if (asked.compress != nullptr) folder.compress(*asked.compress);
      if constexpr (!of::is_kept && of::has_dp) journal.sums().are_in(*parts.dp);
      journal.trusts_states(known.states);
      told_at_end const tells{*reports, report};
      report.folder = folder.path();
      report.why = known.why;
      if (!looks) {
        folder.begin_anew();
        return;
      }
      if (known.states) journal.choices().read();
      agree_on_choices(all, journal.choices());
      if (known.states)
        states = any_state(
            all, folder, slots, [&](file_head const& head) { return journal.may_use(head); }, journal.live_state());
      if (states) report.used = disk_use::states;
      else if (!folder.has_record()) tell_nearest(report, outer, folder, name);
      if (asked.resume == resume_rule::require && !goes_on_somehow())
        refuse_nothing_found(report.why, steps_of_run(plan));
    }
    [[nodiscard]] trust known_of(Agreement const& all, disk_options const& asked, Parts const& parts) {
      trust const found = name_given<of>(name, asked, parts).trusted(!asked.key.empty(), of::sums_on_the_way);
      agree_on_options(all, asked, found);
      return found;
    }
    template <class StepNow, class Plan>
    [[nodiscard]] run_id id_of(Parts const& parts, StepNow& step, X0& x0, Plan const& plan, bool has_key) {
      name_loop<State>(name, parts, plan, step, x0, has_key, known);
      return name.id();
    }
    /// What parameters and adjoint hold now. The other functions are the caller's, and may be gone.
    [[nodiscard]] run_id held() {
      id_sum& sum = name.sum();
      sum.begin();
      if constexpr (of::has_params) write_state(*params, sum);
      if (look_at_adjoint) (void)look_at_adjoint(sum, nullptr);
      return sum.value();
    }
    [[nodiscard]] bool begins_anew() {
      told_at_end const tells{*reports, report};
      if (!journal.begins_anew(looks_for)) return false;
      return looks = states = false, true;
    }
    struct held_is_same {
      everything& all;
      [[nodiscard]] bool operator()() const { return all.held() == all.adjoint_held; }
    };
    [[nodiscard]] bool goes_on_somehow() const {
      return states || (known.record && on_all(journal.agreed(), folder.has_record()));
    }
    std::shared_ptr<call_reports> reports;
    disk_report report;
    run_name name;
    outer_folders outer;
    trust known;
    run_folder folder;
    journal_type journal;
    files_type files;
    std::size_t keep;
    slot_index slots;
    resume_rule looks_for;
    bool keyed, named_code, looks, trusted, states = false;
    std::uint64_t adjoint = 0;
    run_id adjoint_held;
    std::function<bool(id_sum&, loaded_code*)> look_at_adjoint;
    typename of::params const* params = nullptr;
    held_is_same unchanged{*this};
  };
  std::unique_ptr<everything> all_;
};

}  // namespace cairn::detail
