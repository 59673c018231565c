// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file replay_ledger.hpp  The replay check's record of one sweep: hashes by the number of the state. It knows neither
/// states nor executors.
#include <cstddef>
#include <cstdint>
#include <new>
#include <utility>
#include <cairn/core/action.hpp>
#include <cairn/core/detail/state_hash.hpp>
#include <cairn/core/detail/table.hpp>
#include <cairn/core/error.hpp>
#include <cairn/rules/replay_check.hpp>

namespace cairn::detail {

/// A state with a known hash.
struct noted_state {
  step_index at = -1;
  std::uint64_t hash = 0;
};
static_assert(sizeof(noted_state) == bytes_a_noted_state);

/// The state that was last saved in each place, and states between them, sorted by number. When the table of the latter
/// is full, only the last one in each gap between saved states stays; there are fewer gaps than entries.
class checkpoint_hashes {
 public:
  /// Forgets everything. Allocates only what is missing.
  /// \param keeps_run  `remember` and `rewind` will be called
  void begin(slot_index slots, slot_index tapes, bool keeps_run) {
    forget();
    slots_ = slots;
    initial_ = slots + tapes;
    auto const places = replay_places(slots, tapes);
    saved_.assign(entries_for(std::int64_t(places)), {});
    noted_.assign(entries_for(std::int64_t(noted_states(places))), {});
    if (keeps_run) {
      saved_at_turn_.assign(saved_.size(), {});
      noted_at_turn_.assign(noted_.size(), {});
    }
  }
  /// Forgets the states that were noted; those saved in places stay.
  void forget() noexcept { count_ = remembered_ = 0; }
  /// Forgets the noted states from state `open` on.
  void forget_from(step_index open) noexcept {
    while (count_ > 0 && noted_[count_ - 1].at >= open) --count_;
  }

  /// The first noted state from `at` to `to`, both included; `to + 1` if there is none.
  [[nodiscard]] step_index next(step_index at, step_index to) const noexcept {
    std::size_t const k = not_before(at);
    return k < count_ && noted_[k].at <= to ? noted_[k].at : to + 1;
  }
  /// State i as it was noted before. Null if it was not noted yet; then this call notes it.
  [[nodiscard]] noted_state const* note(step_index i, std::uint64_t hash) noexcept {
    std::size_t const k = not_before(i);
    if (k < count_ && noted_[k].at == i) return &noted_[k];
    insert(k, {i, hash});
    return nullptr;
  }
  /// The hash of state i if it was noted or saved, else 0.
  [[nodiscard]] std::uint64_t known(step_index i) const noexcept {
    if (std::size_t const k = not_before(i); k < count_ && noted_[k].at == i) return noted_[k].hash;
    for (noted_state const& one : saved_)
      if (one.at == i) return one.hash;
    return 0;
  }
  /// Whether all noted and saved states have this hash.
  [[nodiscard]] bool are_all(std::uint64_t hash) const noexcept {
    for (std::size_t k = 0; k < count_; ++k)
      if (noted_[k].hash != hash) return false;
    for (noted_state const& one : saved_)
      if (one.at >= 0 && one.hash != hash) return false;
    return true;
  }
  /// The state that was last saved in a place: a slot, slots + a tape, or, after these, the initial state.
  [[nodiscard]] noted_state& saved(slot_index place) noexcept { return saved_[place]; }

  /// Stores what is known at the turn of a kept run.
  void remember() noexcept {
    copy(noted_, noted_at_turn_, remembered_ = count_);
    copy(saved_, saved_at_turn_, saved_.size());
  }
  /// Restores what was known at the turn.
  void rewind() noexcept {
    copy(noted_at_turn_, noted_, count_ = remembered_);
    copy(saved_at_turn_, saved_, saved_.size());
  }
  /// State i as it was noted at the turn; null if it was not.
  [[nodiscard]] noted_state const* at_turn(step_index i) const noexcept {
    for (std::size_t k = 0; k < remembered_; ++k)
      if (noted_at_turn_[k].at == i) return &noted_at_turn_[k];
    return nullptr;
  }

 private:
  /// The first entry of state `at` or a later one. Most runs end near the last entries, so these are searched first.
  [[nodiscard]] std::size_t not_before(step_index at) const noexcept {
    if (count_ == 0 || noted_[count_ - 1].at < at) return count_;
    std::size_t low = 0, high = count_ - 1;
    while (low < high) {
      std::size_t const middle = low + (high - low) / 2;
      if (noted_[middle].at < at) low = middle + 1;
      else high = middle;
    }
    return low;
  }
  void insert(std::size_t k, noted_state const& next) noexcept {
    if (count_ == noted_.size()) {
      sort_out(next.at);
      k = not_before(next.at);
    }
    for (std::size_t j = count_++; j > k; --j) noted_[j] = noted_[j - 1];
    noted_[k] = next;
  }
  /// Discards entries: keeps only the last one in each gap between states that are kept, or were when their places were
  /// last filled. The complement of an entry's number marks the first entry of a gap.
  void sort_out(step_index next) noexcept {
    auto const mark = [this](step_index kept) {
      std::size_t low = 0, high = count_;
      while (low < high) {
        std::size_t const middle = low + (high - low) / 2;
        if (number_of(noted_[middle]) < kept) low = middle + 1;
        else high = middle;
      }
      if (low < count_ && noted_[low].at >= 0) noted_[low].at = ~noted_[low].at;
    };
    for (std::size_t place = 0; place < saved_.size(); ++place) {
      bool const tape = place >= std::size_t(slots_) && place < std::size_t(initial_);
      if (step_index const at = saved_[place].at; at >= 0)
        mark(tape ? at - 1 : at);  // a recomputation stops before a tape
    }
    mark(next);
    std::size_t left = 0;
    for (std::size_t k = 0; k < count_; ++k) {
      bool const last = k + 1 == count_ || noted_[k + 1].at < 0;
      if (last) noted_[left++] = {number_of(noted_[k]), noted_[k].hash};
    }
    count_ = left;
  }
  [[nodiscard]] static step_index number_of(noted_state const& noted) noexcept {
    return noted.at >= 0 ? noted.at : ~noted.at;
  }
  static void copy(table<noted_state> const& from, table<noted_state>& to, std::size_t count) noexcept {
    for (std::size_t k = 0; k < count; ++k) to[k] = from[k];
  }

  table<noted_state> noted_, saved_, noted_at_turn_, saved_at_turn_;  // noted_ has count_ entries, sorted by state
  std::size_t count_ = 0, remembered_ = 0;
  slot_index slots_ = 0, initial_ = 0;  // places: tapes come after slots, then the initial state
};

/// Records the hash of each state when a sweep first makes it, and compares the hash when the state is made again.
///
/// With `checkpoints`, the ledger needs one hash from every run over steps [s, t): that of the state before the last
/// step, t - 1; with leaves, that of the state where the last leaf begins. Step t - 1 is reversed before any earlier
/// one, so a later run of the steps before it stops exactly there and is compared. One hash per gap between kept states
/// is enough for all later runs; memory is bounded by the number of places that keep states. The ledger never looks
/// ahead in the plan. With `every_step` it needs every state.
///
/// An executor advances live by `along`, and notes the hash of each state that `along` shows. `note`, `saved` and
/// `loaded` return false if a state differs; the executor then calls `fail`, which throws. Allocates only in `begin`,
/// and only what is missing; for a loop of unknown length also when its table grows.
class replay_ledger {
 public:
  /// What must be known before a sweep.
  struct setup {
    replay_check mode = replay_check::off;
    step_index steps = unknown;  ///< loop length
    step_index leaf = 1;         ///< the most steps of one reverse, >= 1
    slot_index slots = 0;        ///< numbered 0 to slots - 1
    slot_index tapes = 0;        ///< numbered as places after the slots
    bool keeps_run = false;      ///< `remember` and `rewind` will be called
    bool only_others = false;    ///< states are compared as soon as there are some of another process
    bool in_parts = false;       ///< states are brought back from snapshots or bytes, which may lack something
  };
  /// The length of a loop that is known only when it ends.
  static constexpr step_index unknown = -1;

  /// Forgets everything. \throws out_of_memory   if the table of `every_step` cannot be allocated
  void begin(setup const& given) {
    setup_ = given;
    noted_.forget();
    farthest_ = agreed_ = 0;
    open_ = none_reversed;
    end_ = turn_ = {};
    compared_ = first_ = 0;
    brought_ = 0, due_ = 1;
    tried_initial_ = tried_ahead_ = false;
    others_ = nullptr;
    if (given.mode == replay_check::checkpoints) noted_.begin(given.slots, given.tapes, given.keeps_run);
    else if (given.mode == replay_check::every_step) begin_table(given.steps);
  }
  /// For a sweep that resumes where one with the same setup stopped: the hashes stay, and all steps count as run
  /// before. A ledger of another setup, or of other states, begins anew.
  void begin_again(setup const& given, step_index open, bool same_states) {
    bool const fits = same_states && given.mode == setup_.mode && given.steps == setup_.steps &&
                      given.only_others == setup_.only_others && given.leaf == setup_.leaf &&
                      given.slots == setup_.slots && given.tapes == setup_.tapes;
    if (!fits) begin(given);
    farthest_ = given.steps;
    if (end_.at != open) end_ = {open, known(open)};
    reversed(open);
  }
  [[nodiscard]] bool on() const noexcept { return setup_.mode != replay_check::off; }
  /// Whether all that this process runs twice is compared, too.
  [[nodiscard]] bool on_own() const noexcept { return on() && !setup_.only_others; }
  [[nodiscard]] replay_check mode() const noexcept { return setup_.mode; }
  /// How many comparisons of recomputed or loaded states this sweep has made.
  [[nodiscard]] std::uint64_t compared() const noexcept { return compared_; }

  /// The steps from `open` on have been reversed: no later run goes past state `open`.
  void reversed(step_index open) noexcept {
    open_ = open;
    noted_.forget_from(open);
  }
  /// Step i has not been run before.
  [[nodiscard]] bool is_first(step_index i) const noexcept { return i >= farthest_; }
  /// Live has advanced from state i - 1 to state i.
  void reached(step_index i) noexcept {
    if (i > farthest_) farthest_ = i;
  }
  /// The first state to look at in a run from state `at` to state `to`, both included; `to + 1` if there is none.
  [[nodiscard]] step_index next_check(step_index at, step_index to) const noexcept {
    if (setup_.mode == replay_check::every_step) return at;
    if (setup_.mode == replay_check::off) return to + 1;
    step_index const known = noted_.next(at, to), last = last_leaf(to);
    step_index const next = at <= last && last < known ? last : known;
    return setup_.in_parts && first_ == 0 && at <= 1 && 1 < next ? 1 : next;
  }

  /// Advances live from state `from` to state `to` by calls run(at, reach), and calls check(i) for each state to be
  /// examined.
  template <class Run, class Check>
  void along(step_index from, step_index to, Run run, Check check) {
    step_index at = from;
    for (step_index next = from;; ++next) {
      next = next_check(next, to);
      step_index const reach = next < to ? next : to;
      if (at < reach) {
        run(at, reach);
        reached(at = reach);
      }
      if (next <= to) check(next);
      if (next >= to) return;
    }
  }

  /// Live is state i. Returns false if the state had another hash before.
  [[nodiscard]] bool note(step_index i, std::uint64_t hash) {
    if (i >= open_) return true;
    if (setup_.mode == replay_check::every_step) return note_in_table(i, hash);
    if (i == 1 && first_ == 0) first_ = hash;
    noted_state const* const before = noted_.note(i, hash);
    return before == nullptr || agrees(i, before->hash, hash);
  }
  /// State i is saved in a place: a slot, or slots + a tape slot. Returns false if state i had another hash when it was
  /// last saved there.
  [[nodiscard]] bool saved(slot_index place, step_index i, std::uint64_t hash) {
    if (setup_.mode == replay_check::every_step) return note(i, hash);
    noted_state& there = noted_.saved(place);
    if (there.at == i) return agrees(i, there.hash, hash);
    there = {i, hash};
    return true;
  }
  /// The hash of the state at which a later run to state i is compared, that before the last leaf; 0 if unknown. Beside
  /// state i it lets another process compare such runs.
  [[nodiscard]] std::uint64_t before(step_index i) noexcept { return i > 0 ? known(last_leaf(i)) : 0; }
  /// Another process has left state i in a slot, and beside it what `before` gave there.
  /// \param advice  for errors from now on   \throws nondeterminism_error   if it differs from what is left elsewhere
  void left(slot_index slot, step_index i, std::uint64_t hash, std::uint64_t earlier,
            char const* advice = advice_to_steps) {
    others_ = advice;
    reached(i);
    if (!saved(slot, i, hash) || !note(i, hash) || (earlier != 0 && !note(last_leaf(i), earlier))) fail(i);
  }
  /// Another process has left state i between two places of the plan.
  void left(step_index i, std::uint64_t hash, char const* advice) {
    others_ = advice;
    reached(i);
    if (!note(i, hash)) fail(i);
  }
  /// Whether states are compared with those of another process.
  [[nodiscard]] bool others() const noexcept { return others_ != nullptr; }
  /// State i was loaded from a place and is live. Returns false if it differs from the state that was saved.
  [[nodiscard]] bool loaded(slot_index place, step_index i, std::uint64_t hash) {
    bool good = true;
    if (setup_.mode == replay_check::every_step) good = note(i, hash);
    else if (noted_state const& there = noted_.saved(place); there.at == i) good = agrees(i, there.hash, hash);
    agreed_ = i;
    return good;
  }
  /// State i was made outside the sweep's live state, by a run from state `from`. Returns false if it had another hash
  /// before.
  [[nodiscard]] bool matches(step_index from, step_index i, std::uint64_t hash) noexcept {
    agreed_ = from;
    if (setup_.mode == replay_check::every_step) return known(i) == 0 || agrees(i, known(i), hash);
    noted_state const* const before = noted_.at_turn(i);
    return before == nullptr || agrees(i, before->hash, hash);
  }
  /// Notes the hash of state i, at which the next adjoint call or the seed begins: the steps before it end there.
  void end_is(step_index i, std::uint64_t hash) noexcept { end_ = {i, hash}; }
  /// The hash of state i if it was the last one given to `end_is`, else 0.
  [[nodiscard]] std::uint64_t end_at(step_index i) const noexcept { return end_.at == i ? end_.hash : 0; }
  /// State i was run again for an adjoint that takes it as x1. Returns false if it had another hash before.
  [[nodiscard]] bool ends(step_index i, std::uint64_t hash) noexcept {
    return end_at(i) == 0 || agrees(i, end_.hash, hash);
  }
  /// Whether the state before the turn is to be brought back there, and run on for one step. Says yes once in a sweep,
  /// and in the forward run of a loop of unknown length once more.
  [[nodiscard]] bool tries_at_turn(bool turned) noexcept {
    if (!on_own()) return false;
    if (!turned && setup_.steps == unknown) return !std::exchange(tried_ahead_, true);
    if (brought_ > 0) return false;
    brought_ = 1, due_ = 2;
    return true;
  }
  /// The first state that the turn has made, if it is to be made again; its hash is 0 if it is not.
  [[nodiscard]] noted_state& turn() noexcept { return turn_; }
  /// The hash of state 1 if state 0 is still to be run on, at the turn of a loop of known length; else 0.
  [[nodiscard]] std::uint64_t initial_to_try() noexcept {
    bool const tries = on_own() && !tried_initial_ && setup_.steps != unknown;
    std::uint64_t const hash = !tries ? 0 : first_ != 0 ? first_ : known(1);
    tried_initial_ |= hash != 0;
    return hash;
  }
  /// State i was brought back. The hash of state i + 1 if live is to be run on to there, and the hash is known; else 0.
  ///
  /// What was kept may lack a member that the step reads, which then has the value of another state. So state 0, whose
  /// members differ most from what comes last, is run on, and the 1st, 2nd, 4th, 8th ... state that is brought back;
  /// with `every_step` each. Values that a sweep without parts keeps are run on once.
  [[nodiscard]] std::uint64_t end_to_try(step_index i) noexcept {
    if (!on_own() || (!setup_.in_parts && due_ > 1)) return 0;
    ++brought_;
    bool const initial = setup_.in_parts && i == 0 && !tried_initial_;
    bool const each = setup_.in_parts && setup_.mode == replay_check::every_step;
    if (!each && !initial && brought_ < due_) return 0;
    std::uint64_t hash = end_at(i + 1);
    if (hash == 0) hash = i == 0 && first_ != 0 ? first_ : known(i + 1);
    if (hash == 0) return 0;
    tried_initial_ |= initial;
    while (due_ <= brought_) due_ *= 2;
    return hash;
  }
  /// Whether all states that are known up to state i, of which some come before state i - 1, have this hash.
  [[nodiscard]] bool are_all(step_index i, std::uint64_t hash) noexcept {
    if (!on() || i < 2) return false;
    if (setup_.mode == replay_check::checkpoints) return noted_.are_all(hash);
    for (step_index k = 0; k < i && std::size_t(k) < hashes_.size(); ++k)
      if (std::uint64_t const known = hashes_[std::size_t(k)]; known != 0 && known != hash) return false;
    return true;
  }
  /// The initial state's number as a place.
  [[nodiscard]] slot_index initial_place() const noexcept { return setup_.slots + setup_.tapes; }
  [[nodiscard]] slot_index place_of_tape(slot_index tape) const noexcept { return setup_.slots + tape; }

  /// Stores what is known at the turn of a kept run.
  void remember() noexcept {
    if (setup_.mode == replay_check::checkpoints) noted_.remember();
  }
  /// Restores what was known at the turn: all steps are to be reversed again.
  void rewind() noexcept {
    open_ = none_reversed;
    end_ = {};
    if (setup_.mode == replay_check::checkpoints) noted_.rewind();
  }

  /// State i was run again and differs. \throws nondeterminism_error
  [[noreturn]] void fail(step_index i, first_difference const& where = {}) const {
    if (others()) refuse_replayed(i, agreed_, where, others_);
    refuse_replayed(i, setup_.mode == replay_check::every_step ? i - 1 : agreed_, where);
  }

 private:
  static_assert(sizeof(std::uint64_t) == bytes_a_hash);
  static constexpr step_index none_reversed = INT64_MAX;

  [[nodiscard]] bool agrees(step_index i, std::uint64_t first, std::uint64_t again) noexcept {
    ++compared_;
    if (first != again && (others() || on_own())) return false;
    agreed_ = i;
    return true;
  }
  /// The hash of state i, 0 if unknown.
  [[nodiscard]] std::uint64_t known(step_index i) noexcept {
    if (setup_.mode != replay_check::every_step) return noted_.known(i);
    return std::size_t(i) < hashes_.size() ? hashes_[std::size_t(i)] : 0;
  }
  /// Where the last leaf of a run to state `to` begins.
  [[nodiscard]] step_index last_leaf(step_index to) const noexcept {
    return setup_.leaf == 1 ? to - 1 : (to - 1) / setup_.leaf * setup_.leaf;
  }
  void begin_table(step_index steps) {
    if (steps == unknown) return hashes_.begin(std::size_t(first_hashes), true);
    constexpr auto most = std::size_t{PTRDIFF_MAX} / sizeof(std::uint64_t);
    bool held = std::uint64_t(steps) < most;
    if (held) {
      try {
        hashes_.begin(std::size_t(steps) + 1, false);
      } catch (std::bad_alloc const&) {
        held = false;
      }
    }
    if (!held)
      throw out_of_memory{"cairn: replay check",
                          "there is no memory for a hash of every state",
                          {{"steps", steps}, {"bytes", bytes_a_hash * (wide(steps) + 1)}},
                          "use replay_check::checkpoints, which needs no more than the slots say"};
  }
  [[nodiscard]] bool note_in_table(step_index i, std::uint64_t hash) {
    while (std::size_t(i) >= hashes_.size()) hashes_.grow();
    std::uint64_t& there = hashes_[std::size_t(i)];
    if (there != 0) return agrees(i, there, hash);
    there = hash;
    return true;
  }

  setup setup_;
  checkpoint_hashes noted_;  // of `checkpoints`
  growing_table hashes_;     // of every state, 0 if unknown
  step_index farthest_ = 0;  // the last state made so far
  step_index agreed_ = 0;    // the last state that was loaded or found equal
  step_index open_ = none_reversed;
  noted_state end_;   // at the end of the steps that are reversed next
  noted_state turn_;  // see `turn`
  std::uint64_t compared_ = 0;
  std::uint64_t first_ = 0;               // hash of state 1, which state 0 leads to; 0 if unknown
  std::uint64_t brought_ = 0, due_ = 1;  // states that were brought back; the next one that is run on
  bool tried_initial_ = false, tried_ahead_ = false;
  char const* others_ = nullptr;  // advice if states of another process are noted
};

}  // namespace cairn::detail
