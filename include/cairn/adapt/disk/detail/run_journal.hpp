// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file run_journal.hpp  What a run notes on its way back, and the check of its seam when another process goes on.
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>
#include <cairn/adapt/disk/detail/agreed.hpp>
#include <cairn/adapt/disk/detail/choice_file.hpp>
#include <cairn/adapt/disk/detail/run_folder.hpp>
#include <cairn/adapt/disk/detail/run_name.hpp>
#include <cairn/adapt/disk/detail/run_sums.hpp>
#include <cairn/adapt/disk/detail/trust.hpp>
#include <cairn/adapt/disk/disk_options.hpp>
#include <cairn/core/detail/state_hash.hpp>
#include <cairn/core/detail/user_values.hpp>
#include <cairn/core/error.hpp>
#include <cairn/core/state_bytes.hpp>
#include <cairn/core/state_traits.hpp>
#include <cairn/door/forms.hpp>
#include <cairn/door/library_bar.hpp>
#include <cairn/run/sweep/detail/advanced_copy.hpp>
#include <cairn/run/sweep/detail/given_parts.hpp>
#include <cairn/run/sweep/detail/kept_snapshot.hpp>

namespace cairn::detail {

/// The reverse sweep of a kept run that a record belongs to.
struct reverse_of_run {
  step_index steps = -1;    ///< length of the loop; -1: the run has one reverse only, and its records do not say
  std::uint64_t seed = 0;   ///< hash of the function, of the adjoint of the final state, and of dp there
  [[nodiscard]] friend bool operator==(reverse_of_run const&, reverse_of_run const&) = default;
};

/// State `at`, made from state `from`, is not what another process had.
[[noreturn]] inline void refuse_other_arithmetic(step_index from, step_index at) {
  replay_difference seen;
  seen.state = at;
  seen.first_step = from;
  seen.last_step = at - 1;
  throw nondeterminism_error{
      "cairn::disk", "a state differs from what the process that stopped had", seen,
      "what the step reads beside its state must be the same: static variables, what it refers to, what a snapshot "
      "leaves out; then processor, libraries and flags; or begin anew with cairn::resume_rule::never"};
}

/// Commits a record when as much time has passed as makes the expected loss least: sqrt(2 C MTBF) for a commit that
/// takes C (Young, A first order approximation to the optimum checkpoint interval, 1974).
/// \tparam Object  the object of a loop over one, or void   \tparam Choices  that its steps make, or no_choices
/// \tparam Agreement  with whom the same moments are chosen
template <class State, class Step, class Sums, class Object, class Choices = no_choices, class Agreement = one_process>
class run_journal {
 public:
  using agreement = Agreement;
  /// What stands beside a state or an adjoint: the sum of the terms before `next`, as far as the run was then; beside an
  /// adjoint what was found at the end, too.
  struct partial_sum {
    double sum = 0;
    step_index next = -1;
    double ending = 0;
  };

  /// \param report  is told of each record   \param choices  of its steps; null if there are none
  run_journal(run_folder& folder, disk_report& report, Step* step, Sums sums, Object* object, Choices* choices,
              disk_options const& asked, Agreement const& all = {})
      : all_{all}, folder_{folder}, report_{report}, step_{step}, sums_{sums}, object_{object},
        choices_{folder, choices}, stop_{asked.stop}, committed_{asked.committed},
        failures_{asked.seconds_between_failures}, every_{asked.commit_every} {}

  [[nodiscard]] Agreement const& agreed() const noexcept { return all_; }
  [[nodiscard]] Agreement& agreed() noexcept { return all_; }
  /// Records are written, or not.   \param of  in which reverse of a kept run
  void commits(bool written = true, reverse_of_run const& of = {}) noexcept {
    commits_ = written, of_ = of;
    commit_last_ = nullptr, recorded_ = -1, goes_back_ = false;
    forget_failures();
  }
  /// A kept run moves, and its step with it.
  void runs(Step& step) noexcept { step_ = &step; }
  [[nodiscard]] Sums& sums() noexcept { return sums_; }
  [[nodiscard]] choice_file<Choices>& choices() noexcept { return choices_; }
  /// f() says whether parameters and functions are still what they were; it is asked before each record is written, and
  /// before states are written, not more often than as many bytes are written as it reads.
  template <class Fn>
  void watch(Fn const& f, std::uint64_t bytes) noexcept {
    watched_ = &f;
    watched_bytes_ = bytes;
    unchanged_ = [](void const* of) { return (*static_cast<Fn const*>(of))(); };
  }
  /// A state of so many bytes is about to be written. Returns whether another process may use it.
  [[nodiscard]] bool may_be_used(std::uint64_t bytes, slot_index slots) {
    if (!changed_ && (unchecked_ += bytes) >= watched_bytes_ && unchanged_ != nullptr) {
      unchecked_ = 0;
      if (!unchanged_(watched_)) has_changed(), folder_.forget_own(slots);  // when it changed is not known
    }
    return !changed_;
  }
  /// Whether a checkpoint with this head, which is one of this run, may be used.
  [[nodiscard]] bool may_use(file_head const& head) const {
    return (head.flags & unproven) == 0 && choices_.reach(head.step);
  }
  /// Another process had a record for `open`, with this hash of that state; 0 if it is not known.
  void seam(step_index open, std::uint64_t hash) noexcept {
    seam_ = {hash != 0 ? open : -1, hash};
    std::erase_if(taken_, [open](auto const& one) { return one.at >= open; });
  }
  /// The sweep goes on from state i of another process, which has this hash; 0 if it is not known. What is reversed
  /// next below it must lead there.
  void took(step_index i, std::uint64_t hash) {
    if (hash == 0) return;
    auto const after = std::find_if(taken_.begin(), taken_.end(), [i](auto const& one) { return one.at <= i; });
    if (after == taken_.end() || after->at < i) taken_.insert(after, {i, hash});
  }
  /// Of these only state i.
  void took_only(step_index i) noexcept {
    std::erase_if(taken_, [i](auto const& one) { return one.at != i; });
  }
  /// What another process left turned out to be another trajectory. Returns whether the run begins anew: nothing of
  /// that process is left then. Of several processes all begin anew, where all know it, or none.
  [[nodiscard]] bool begins_anew(resume_rule asked) {
    if (asked == resume_rule::require || report_.used == disk_use::nothing || (Agreement::together && !all_know_))
      return false;
    folder_.begin_anew();
    commits(commits_, of_);
    seam_ = {};
    taken_.clear();
    all_know_ = false;
    choices_.forget();
    if constexpr (Sums::any) sums_.terms->go_on(0, 0), sums_.terms->ended(0);
    report_.used = disk_use::nothing;
    report_.resumed_at = -1;
    report_.why = why_other_states;
    return true;
  }
  /// Whether the arithmetic of this process still has to be compared with that of the one before it.
  [[nodiscard]] bool seam_is_open() const noexcept { return seam_.at >= 0; }
  /// What states of this process another one may use; without, none is written where the run is asked to stop.
  void trusts_states(bool are) noexcept { trusts_states_ = are; }
  /// Whether a state that is written now can be used by another process.
  [[nodiscard]] bool keeps_states() const noexcept { return trusts_states_ && !seam_is_open(); }
  /// Whether anybody may ask for a stop.
  [[nodiscard]] bool is_asked() const noexcept { return bool(stop_); }
  /// Whether the run is asked to stop. Of several processes all are if one is: they look together, about every half
  /// second.
  [[nodiscard]] bool asks_to_stop() {
    if (!stop_) return false;
    if constexpr (!Agreement::together) return stop_();
    else {
      if (++asks_ < next_ask_) return false;
      auto const before = std::exchange(asked_at_, clock::now());
      double const passed = std::chrono::duration<double>(asked_at_ - before).count();
      std::int64_t const next = passed < 0.25 ? 2 * asks_ : passed < 1 ? asks_ : (std::max)(asks_ / 2, std::int64_t{1});
      asks_ = 0;
      next_ask_ = std::int64_t(all_.least(stop_() ? 0 : std::uint64_t(next)));
      return next_ask_ == 0;
    }
  }
  /// Whether it was when the last adjoint began.
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
  /// The state where another process was asked to stop between two places of the plan; -1 if none can be used.
  [[nodiscard]] step_index live_state() const {
    file_head const head = folder_.slot_head(run_folder::live_slot);
    bool const is_comparable = head.sequence != 0 || head.state_hash == 0;  // else the process was killed meanwhile
    return trusts_states_ && head.sound() && is_comparable && may_use(head) ? step_index(head.step) : -1;
  }

  /// Whether the last record that was to be written is on the disk.
  [[nodiscard]] bool is_recorded() const noexcept { return failed_ == 0; }

  /// A run goes on from the states of another process: the shortest stretch between two of them is run again, and
  /// must end in the same state.
  /// \param x0  the initial state, or a snapshot of it   \param slots  of several processes: those of the plan
  /// \throws nondeterminism_error
  template <class Value>
  void check_stretch(Value const& x0, [[maybe_unused]] slot_index slots = 0) {
    struct stored {
      step_index state;
      slot_index slot;
      std::uint64_t hash;
      [[nodiscard]] bool operator<(stored const& other) const noexcept { return state < other.state; }
    };
    std::vector<stored> all;
    folder_.each_checkpoint([&](slot_index slot, file_head const& head) {
      if (head.step > 0 && may_use(head)) all.push_back({step_index(head.step), slot, head.state_hash});
    });
    if constexpr (Agreement::together) {  // steps communicate: all run the same ones
      std::vector<step_index> held(std::size_t(slots), -1);
      for (auto const& one : all)
        if (one.slot < slots) held[std::size_t(one.slot)] = one.state;
      agree_on_states(all_, held);
      std::erase_if(all, [&](stored const& one) {
        return one.slot >= slots || held[std::size_t(one.slot)] != one.state;
      });
    }
    std::sort(all.begin(), all.end());
    if (compare_live(x0)) return;
    while (!all.empty()) {
      std::size_t best = all.size();
      auto const before = [&all](std::size_t k) { return k == 0 ? 0 : all[k - 1].state; };
      for (std::size_t k = 0; k < all.size(); ++k)
        if (all[k].hash != 0 && all[k].state > before(k) &&
            (best == all.size() || all[k].state - before(k) < all[best].state - before(best)))
          best = k;
      if (best == all.size()) return;  // hashes are not known
      if (best == 0) return compare(x0, 0, all[0].state, all[0].hash);
      Value x = copy_of(x0);
      auto const& from = all[best - 1];
      partial_sum ignored;
      bool const is_read =
          folder_.read_checkpoint(from.slot, from.state, x, [&](auto& source) { read_beside(source, ignored); });
      if (on_all(all_, is_read)) return compare(std::as_const(x), from.state, all[best].state, all[best].hash);
      all.erase(all.begin() + std::ptrdiff_t(best) - 1);  // it is damaged
    }
  }
  template <class Sink>
  void write_beside([[maybe_unused]] Sink& sink) const {
    if constexpr (Sums::any) write_state(sums_.terms->sum(), sink), write_state(sums_.terms->steps(), sink);
  }
  template <class Source>
  void read_beside([[maybe_unused]] Source& source, [[maybe_unused]] partial_sum& into) const {
    if constexpr (Sums::any) {
      read_state(into.sum, source);
      read_state(into.next, source);
    }
  }
  /// A sum over more states than are summed here, as another process had it.
  void adopt([[maybe_unused]] partial_sum const& of) noexcept {
    if constexpr (Sums::any)
      if (of.next >= sums_.terms->steps()) sums_.terms->go_on(of.sum, of.next);
  }
  /// The same of a record.
  void adopt_all([[maybe_unused]] partial_sum const& of) noexcept {
    adopt(of);
    if constexpr (Sums::any) sums_.terms->ended(of.ending);
  }

  /// \throws invalid_bytes   if the record belongs to another reverse
  template <class Bar, class Source>
  void read_record(Bar& bar, Source& source, partial_sum& all) {
    if (of_.steps >= 0) {
      reverse_of_run other;
      read_state(other.steps, source);
      read_state(other.seed, source);
      if (!(other == of_)) throw invalid_bytes{"cairn::disk", "a record belongs to another reverse", {}, ""};
    }
    read_bar(bar, source);
    sums_.read(source);
    read_beside(source, all);
    if constexpr (Sums::any) read_state(all.ending, source);
  }
  /// The adjoint as it stands in a record: of a library what its object saves.
  template <class Bar, class Sink>
  void write_bar(Bar const& bar, Sink& sink) const {
    if constexpr (!std::is_same_v<Bar, library_bar>) write_exactly(bar, sink);
    else if constexpr (saves_bar<Object>) write_exactly(std::as_const(*object_).save_bar(), sink);
  }
  template <class Bar, class Source>
  void read_bar(Bar& bar, Source& source) {
    constexpr char const* what = "an adjoint that is read back is not the one that was written";
    if constexpr (!std::is_same_v<Bar, library_bar>) read_exactly(bar, source, what, -1);
    else if constexpr (saves_bar<Object>) {
      std::remove_cvref_t<decltype(std::as_const(*object_).save_bar())> saved{};
      read_exactly(saved, source, what, -1);
      object_->restore_bar(std::as_const(saved));
    }
  }

  /// Called before the adjoint reaches state `open`; look(f) calls f with that state.
  template <class Look>
  void reversing(step_index open, Look const& look) {
    while (!taken_.empty() && taken_.front().at > open) {
      check_seam(taken_.front(), open, look);
      taken_.erase(taken_.begin());
    }
    if (seam_.at > open) {
      check_seam(seam_, open, look);
      seam_.at = -1;
    }
    goes_back_ = true;
    ending_ = asks_to_stop();
    due_ = commits_ && open > 0 && (ending_ || is_time());
    if (!due_ && !(commits_ && open > 0 && is_asked())) return;  // behind it a stop may be asked for
    noted_ = open;
    hash_ = look([](auto const& x) { return hash_of(x); });
  }
  template <class Bar>
  void reversed(step_index open, [[maybe_unused]] Bar const& bar) {
    ++since_;
    open_ = open;
    bar_ = &bar;
    if (goes_back_ || of_.steps < 0)  // a kept run does not go on from its turn
      commit_last_ = [](run_journal& one) {
        if (one.noted_ != one.open_) one.hash_ = 0;
        one.commit(one.open_, *static_cast<Bar const*>(one.bar_), true);
      };
    if (commits_ && (open == 0 || (due_ && noted_ == open))) commit(open, bar, ending_);
  }

 private:
  using clock = std::chrono::steady_clock;
  /// Longer than any record takes, in nanoseconds.
  static constexpr std::uint64_t not_on_all = std::uint64_t{1} << 62;
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
      bool const waits = last || every_ > 0 || std::chrono::duration<double>(before - last_).count() >= first_interval;
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
    int const error = folder_.write_record(open, open > 0 ? hash_ : 0, waits, [&](auto& sink) {
      if (of_.steps >= 0) write_state(of_.steps, sink), write_state(of_.seed, sink);
      write_bar(bar, sink);
      sums_.write(sink);
      write_beside(sink);
      if constexpr (Sums::any) write_state(sums_.terms->ending(), sink);
    });
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
  static constexpr char const* why_not_recorded =
      "the last record could not be written; the next process goes on from the one before it, if there is one";
  /// Less work than this is not worth waiting for the disk: of the record before it, or of none.
  static constexpr double first_interval = 5;

  [[nodiscard]] bool is_time() {
    if (every_ > 0) return (since_ + 1) >> (std::min)(failed_, 62) >= every_;
    auto const passed = [this] { return std::chrono::duration<double>(clock::now() - last_).count(); };
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
  /// A state in which another process has stopped, with its hash; -1 if there is none.
  struct seam_state {
    step_index at = -1;
    std::uint64_t hash = 0;
  };
  /// Runs to that state once more.   \throws nondeterminism_error
  template <class Look>
  void check_seam(seam_state const& of, step_index open, Look const& look) {
    look([&](auto const& x) { compare(x, open, of.at, of.hash); });
  }
  /// The same from the state where another process was asked to stop. Returns whether there is one.
  template <class Value>
  [[nodiscard]] bool compare_live(Value const& x0) {
    step_index const at = live_state();
    std::vector<step_index> held{at};
    agree_on_states(all_, held);
    if (held[0] < 0) return false;
    Value x = copy_of(x0);
    partial_sum ignored;
    std::uint64_t const next = folder_.slot_head(run_folder::live_slot).sequence;
    bool const is_read = folder_.read_checkpoint(run_folder::live_slot, at, x,
                                                 [&](auto& source) { read_beside(source, ignored); });
    if (!on_all(all_, is_read && next != 0)) return false;
    compare(std::as_const(x), at, at + 1, next);
    return true;
  }
  /// Runs from x, which is state `from`, and compares what it makes with the hash that another process had of state
  /// `at`.
  template <class T>
  void compare(T const& x, step_index from, step_index at, std::uint64_t hash) {
    step_index failed = from;
    std::uint64_t again = 0;
    if constexpr (std::is_void_v<Object>) {
      advanced_copy<State> after{x, shape_of_step<Step, State>().form};
      after.run(*step_, from, at, failed);
      again = hash_of(std::as_const(after).state());
    } else {
      auto const before = taken_snapshot(std::as_const(*object_));
      restore_state(*object_, x);
      run_in_place(*step_, *object_, from, at, failed);
      again = hash_of(taken_snapshot(std::as_const(*object_)));
      restore_state(*object_, before);
    }
    if (on_all(all_, again == hash)) return;
    all_know_ = true;
    refuse_other_arithmetic(from, at);
  }

  [[no_unique_address]] Agreement all_;
  run_folder& folder_;
  disk_report& report_;
  Step* step_;
  Sums sums_;
  Object* object_;
  choice_file<Choices> choices_;
  reverse_of_run of_;
  std::function<bool()> stop_;
  std::function<void(whole_run const&)> committed_;
  double failures_;
  std::int64_t every_, since_ = 0, all_written_ = 0, all_failed_ = 0;
  int failed_ = 0;  // records since one was written
  char const* why_before_ = "";
  std::int64_t seen_ = 0, next_look_ = 1;  // actions since the last record; at which of them all look at their clocks
  std::int64_t asks_ = 0, next_ask_ = 1;           // since all looked whether one is asked to stop
  double interval_ = first_interval, commit_seconds_ = 0;
  clock::time_point last_ = clock::now(), asked_at_ = last_;
  seam_state seam_;                // of the record
  std::vector<seam_state> taken_;  // of states, the latest one first
  step_index noted_ = -1;
  // After the last adjoint: how many steps are left, where its result is, what writes it; and what is written already.
  step_index open_ = -1, recorded_ = -1;
  void const* bar_ = nullptr;
  void (*commit_last_)(run_journal&) = nullptr;
  std::uint64_t hash_ = 0;
  bool commits_ = false, due_ = false, trusts_states_ = false, ending_ = false, goes_back_ = false, changed_ = false;
  bool all_know_ = false;  // that what another process left is another trajectory
  void const* watched_ = nullptr;
  std::uint64_t watched_bytes_ = 0, unchecked_ = 0;
  bool (*unchanged_)(void const*) = nullptr;
};

}  // namespace cairn::detail
