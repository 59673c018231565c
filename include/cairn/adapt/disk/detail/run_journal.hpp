// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file run_journal.hpp  What a run notes on its way back: when, what is said of it, and when all of it is forgotten.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <exception>
#include <functional>
#include <string>
#include <type_traits>
#include <utility>
#include <cairn/adapt/disk/detail/agreed.hpp>
#include <cairn/adapt/disk/detail/choice_file.hpp>
#include <cairn/adapt/disk/detail/compared_states.hpp>
#include <cairn/adapt/disk/detail/record_content.hpp>
#include <cairn/adapt/disk/detail/run_folder.hpp>
#include <cairn/adapt/disk/detail/run_name.hpp>
#include <cairn/adapt/disk/disk_options.hpp>
#include <cairn/core/detail/state_hash.hpp>
#include <cairn/core/error.hpp>
#include <cairn/core/state_bytes.hpp>

namespace cairn::detail {

/// A sweep that ends by an exception after its parameters or functions have changed leaves nothing of it.
template <class Unchanged>
struct forgets_if_changed {
  disk_report& report;
  run_folder& folder;
  slot_index slots;
  Unchanged const& unchanged;
  int const thrown = std::uncaught_exceptions();
  ~forgets_if_changed() {
    if (std::uncaught_exceptions() == thrown) return;
    try {
      if (unchanged()) return;
    } catch (...) {  // the user's own: then it is not known
    }
    folder.forget_own(slots);
    report.why = why_changed;
  }
};

/// Of several processes all are asked if one is: they look together, about every half second.
template <class Agreement>
class stop_request {
 public:
  stop_request(std::function<bool()> const& asked, Agreement const& all) : stop_{asked}, together_{all} {}

  /// Whether anybody may ask for a stop.
  [[nodiscard]] bool is_asked() const noexcept { return bool(stop_); }
  [[nodiscard]] bool asks_to_stop() {
    if (!stop_) return false;
    if constexpr (!Agreement::together) return stop_();
    else {
      if (++asks_ < next_ask_) return false;
      auto const before = std::exchange(asked_at_, clock::now());
      double const passed = std::chrono::duration<double>(asked_at_ - before).count();
      std::int64_t const next = passed < 0.25 ? 2 * asks_ : passed < 1 ? asks_ : (std::max)(asks_ / 2, std::int64_t{1});
      asks_ = 0;
      next_ask_ = std::int64_t(together_.least(stop_() ? 0 : std::uint64_t(next)));
      return next_ask_ == 0;
    }
  }

 private:
  using clock = std::chrono::steady_clock;
  std::function<bool()> stop_;
  Agreement const& together_;
  std::int64_t asks_ = 0, next_ask_ = 1;  // since all looked
  clock::time_point asked_at_ = clock::now();
};

/// Commits a record when as much time has passed as makes the expected loss least: sqrt(2 C MTBF) for a commit that
/// takes C (Young, A first order approximation to the optimum checkpoint interval, 1974).
/// \tparam State ... Agreement  see `compared_states`
template <class State, class Step, class Sums, class Object, class Choices = no_choices, class Agreement = one_process>
class run_journal : public compared_states<State, Step, Sums, Object, Choices, Agreement>,
                    public stop_request<Agreement> {
  using compared = compared_states<State, Step, Sums, Object, Choices, Agreement>;
  using compared::all_, compared::folder_, compared::choices_, compared::sums_, compared::of_, compared::all_know_;

 public:
  using compared::may_use;

  /// \param report  is told of each record   \param choices  of its steps; null if there are none
  run_journal(run_folder& folder, disk_report& report, Step* step, Sums sums, Object* object, Choices* choices,
              disk_options const& asked, Agreement const& all = {})
      : compared{folder, step, sums, object, choices, all}, stop_request<Agreement>{asked.stop, all_}, report_{report},
        committed_{asked.committed}, failures_{asked.seconds_between_failures},
        every_{asked.commit_every} {}
  run_journal(run_journal const&) = delete;

  /// Records are written, or not.   \param of  in which reverse of a kept run
  void commits(bool written = true, reverse_of_run const& of = {}) noexcept {
    commits_ = written, of_ = of;
    commit_last_ = nullptr, recorded_ = -1, goes_back_ = false;
    forget_failures();
  }
  /// f() says whether parameters and functions are still what they were; it is asked before each record is written, and
  /// before states are written, not more often than as many bytes are written as it reads.
  template <class Fn>
  void watch(Fn const& f, std::uint64_t bytes) noexcept {
    watched_ = &f;
    watched_bytes_ = bytes;
    unchanged_ = [](void const* of) { return (*static_cast<Fn const*>(of))(); };
  }
  /// A state of so many bytes is about to be written. Returns whether another process may use it.
  /// \param checks  whether functions can be looked at now: the adjoint may change what it holds on another thread
  [[nodiscard]] bool may_be_used(std::uint64_t bytes, slot_index slots, bool checks = true) {
    if (!changed_ && (unchecked_ += bytes) >= watched_bytes_ && checks && unchanged_ != nullptr) {
      unchecked_ = 0;
      if (!unchanged_(watched_)) has_changed(), folder_.forget_own(slots);  // when it changed is not known
    }
    return !changed_;
  }
  [[nodiscard]] bool is_to_be_checked() const noexcept { return unchecked_ >= watched_bytes_ && watched_bytes_ > 0; }
  /// What another process left turned out to be another trajectory. Returns whether the run begins anew: nothing of
  /// that process is left then. Of several processes all begin anew, where all know it, or none.
  [[nodiscard]] bool begins_anew(resume_rule asked) {
    if (asked == resume_rule::require || report_.used == disk_use::nothing || (Agreement::together && !all_know_))
      return false;
    folder_.begin_anew();
    commits(commits_, of_);
    this->forget_others();
    if constexpr (Sums::any) sums_.terms->go_on(0, 0), sums_.terms->ended(0);
    report_.used = disk_use::nothing;
    report_.resumed_at = -1;
    report_.why = why_other_states;
    return true;
  }
  /// Whether parameters, or what a function holds, have changed: nothing that is written is used.
  [[nodiscard]] bool is_changed() const noexcept { return changed_; }
  /// Whether somebody is told of files that are whole, while nothing is written.
  [[nodiscard]] bool tells_files() const noexcept { return bool(committed_); }
  /// Whether the run was asked to stop when the last adjoint began.
  [[nodiscard]] bool is_ending() const noexcept { return ending_; }
  [[nodiscard]] bool is_on_its_way_back() const noexcept { return commit_last_ != nullptr; }
  /// A record of how far the way back is, if there is none.
  void commits_now() {
    if (is_on_its_way_back() && commits_ && open_ > 0 && recorded_ != open_) commit_last_(*this);
  }
  /// Says what could not be written where a run stops. Returns whether it could.
  bool could_write(int error, slot_index slot) {
    if (error == 0) return true;
    report_.why = "not all of what was there could be written where the run stopped; the next process makes it again";
    report_.not_written = words_of(error, folder_.slot_path(slot));
    return false;
  }
  /// \param at  the state before the step in work, or how many steps are left   \throws stopped
  [[noreturn]] void end(step_index at) {
    ending_ = false;
    tell_files();
    char const* const advice = "start it again with the same arguments, and it goes on from there";
    if (is_on_its_way_back())
      throw stopped{"cairn::disk", "the run was asked to stop on its way back", {{"left", open_}}, advice};
    throw stopped{"cairn::disk", "the run was asked to stop on its way forward", {{"state", at}}, advice};
  }
  /// Whether the last record that was to be written is on the disk.
  [[nodiscard]] bool is_recorded() const noexcept { return failed_ == 0; }

  /// Called before the adjoint reaches state `open`; look(f) calls f with that state.
  template <class Look>
  void reversing(step_index open, Look const& look) {
    goes_back_ = true;
    ending_ = this->asks_to_stop();
    due_ = commits_ && open > 0 && (ending_ || is_time());
    if (!due_ && !(commits_ && open > 0 && this->is_asked())) return;  // behind it a stop may be asked for
    noted_ = open;
    hash_ = look([](auto const& x) { return hash_of(x); });
  }
  template <class Bar>
  void reversed(step_index open, Bar const& bar) {
    if (is_due(open, bar)) commit(open, bar);
  }
  /// The same in two parts: notes where the way back is, and returns whether a record is to be written.
  template <class Bar>
  [[nodiscard]] bool is_due(step_index open, Bar const& bar) {
    ++since_;
    open_ = open;
    bar_ = &bar;
    if (goes_back_ || of_.steps < 0)  // a kept run does not go on from its turn
      commit_last_ = [](run_journal& one) {
        if (one.noted_ != one.open_) one.hash_ = 0;
        one.commit(one.open_, *static_cast<Bar const*>(one.bar_), true);
      };
    return commits_ && (open == 0 || (due_ && noted_ == open));
  }
  template <class Bar>
  void commit(step_index open, Bar const& bar) { commit(open, bar, ending_); }

 private:
  using clock = std::chrono::steady_clock;
  /// Longer than any record takes, in nanoseconds.
  static constexpr std::uint64_t not_on_all = std::uint64_t{1} << 62;
  static constexpr char const* why_not_recorded =
      "the last record could not be written; the next process goes on from the one before it, if there is one";
  /// The system's error, 0 if there is none, and its file.
  struct not_written {
    int error = 0;
    std::string file = {};
  };

  void has_changed() noexcept { changed_ = true, report_.why = why_changed; }
  /// \param last  whether nothing comes after it in this process
  template <class Bar>
  void commit(step_index open, [[maybe_unused]] Bar const& bar, bool last) {
    if constexpr (written_state<Bar>) {
      auto const before = clock::now();
      if (!on_all(all_, !changed_ && (unchanged_ == nullptr || unchanged_(watched_)))) {
        commits_ = due_ = false;
        has_changed();
        return folder_.remove_records();
      }
      bool const waits = last || every_ > 0 || passed() >= first_interval;
      not_written const lost = write(open, bar, waits);
      auto const took = std::chrono::duration_cast<std::chrono::nanoseconds>(clock::now() - before).count();
      // All have written this one before any begins the next, so that they have one in common; if one has not, the
      // one before stays the last one on all.
      std::uint64_t const most = most_of(all_, lost.error != 0 ? not_on_all : std::uint64_t(took));
      bool const whole = most < not_on_all;
      double const cost = 1e-9 * double(whole ? most : std::uint64_t(took));
      if (whole) folder_.counts_record(), recorded_ = open;
      note(whole, lost);
      report_.commit_seconds = commit_seconds_ += cost;
      report_.record_bytes = folder_.record_bytes();
      last_ = clock::now();
      double const next = (std::max)(std::sqrt(2 * cost * failures_), 100 * cost);
      if (!whole) interval_ = (std::max)(interval_, next);
      else if (waits) interval_ = next;
      since_ = 0;
      next_look_ = seen_ / 2 > 1 ? seen_ / 2 : 1;
      seen_ = 0;
      due_ = false;
      if (whole && (open == 0 || !last)) tell_files();
    }
  }
  /// Tells whoever copies the files of the run that they are whole.
  void tell_files() {
    if (!committed_) return;
    whole_run now{folder_.path()};
    now.files = folder_.whole_files(now.left, [this](file_head const& head) { return may_use(head); });
    committed_(now);
  }
  template <class Bar>
  [[nodiscard]] not_written write(step_index open, Bar const& bar, bool waits) {
    if (int const error = waits ? choices_.flush() : choices_.append(); error != 0)
      return {error, folder_.path() + '/' + choices_name};
    int const error = folder_.write_record(open, open > 0 ? hash_ : 0, waits,
                                           [&](auto& sink) { this->write_record(bar, sink); });
    return {error, error != 0 ? folder_.record_path() : std::string{}};
  }
  /// What the report says of a record. One that is not on the disk ends nothing: after each, twice as many actions come
  /// before the next is tried.
  void note(bool whole, not_written const& lost) {
    if (whole) {
      report_.commits = ++all_written_;
      return forget_failures();
    }
    report_.commits_failed = ++all_failed_;
    if (failed_++ == 0) why_before_ = std::exchange(report_.why, why_not_recorded);
    report_.not_written =
        lost.error == 0 ? "another rank could not write its record" : words_of(lost.error, lost.file);
  }
  [[nodiscard]] static std::string words_of(int error, std::string const& file) {
    return std::string{words_of_system(error).says} + ": " + file;
  }
  void forget_failures() noexcept {
    if (std::exchange(failed_, 0) > 0) report_.why = why_before_, report_.not_written.clear();
  }
  [[nodiscard]] double passed() const noexcept { return std::chrono::duration<double>(clock::now() - last_).count(); }
  [[nodiscard]] bool is_time() {
    if (every_ > 0) return (since_ + 1) >> (std::min)(failed_, 62) >= every_;
    if constexpr (!Agreement::together) return passed() >= interval_;
    else {  // clocks differ: all agree on how many actions come before they look again, at most as many as came
      if (++seen_ < next_look_) return false;
      double const now = passed(), until = now > 0 ? double(seen_) * interval_ / now : 2.0 * double(seen_);
      std::int64_t next = 2 * seen_;
      if (until < double(next)) next = until > double(seen_) ? std::int64_t(until) + 1 : 0;
      next_look_ = std::int64_t(all_.least(std::uint64_t(next)));
      return next_look_ == 0;
    }
  }
  /// Less work than this is not worth waiting for the disk: of the record before it, or of none.
  static constexpr double first_interval = 5;

  disk_report& report_;
  std::function<void(whole_run const&)> committed_;
  double failures_;
  std::int64_t every_, since_ = 0, all_written_ = 0, all_failed_ = 0;
  int failed_ = 0;  // records since one was written
  char const* why_before_ = "";
  std::int64_t seen_ = 0, next_look_ = 1;  // actions since the last record; at which of them all look at their clocks
  double interval_ = first_interval, commit_seconds_ = 0;
  clock::time_point last_ = clock::now();
  step_index noted_ = -1;
  // After the last adjoint: how many steps are left, where its result is, what writes it; and what is written already.
  step_index open_ = -1, recorded_ = -1;
  void const* bar_ = nullptr;
  void (*commit_last_)(run_journal&) = nullptr;
  std::uint64_t hash_ = 0;
  bool commits_ = false, due_ = false, ending_ = false, goes_back_ = false, changed_ = false;
  void const* watched_ = nullptr;
  std::uint64_t watched_bytes_ = 0;
  std::atomic<std::uint64_t> unchecked_ = 0;
  bool (*unchanged_)(void const*) = nullptr;
};

}  // namespace cairn::detail
