// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file chain_files.hpp  The states of a chain in files, and the sweep that makes again what is not there.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <utility>
#include <cairn/adapt/disk/detail/compared_states.hpp>
#include <cairn/adapt/disk/detail/file_head.hpp>
#include <cairn/adapt/disk/detail/run_folder.hpp>
#include <cairn/core/action.hpp>
#include <cairn/core/detail/state_hash.hpp>
#include <cairn/core/detail/table.hpp>
#include <cairn/core/state_bytes.hpp>
#include <cairn/rules/chain.hpp>
#include <cairn/run/chain/detail/sweep.hpp>
#include <cairn/store/store.hpp>

namespace cairn::detail {

/// The file of state i is that of slot i, on whatever tiers a plan has it: a state has the same bits whenever it is
/// made, so that a file that is whole can always be used.
class chain_files {
 public:
  /// A file does not have its state.
  struct lost {};

  template <class Journal>
  chain_files(run_folder& folder, step_index stages, Journal& journal)
      : folder_{folder}, bytes_(std::size_t(stages) + 1), others_(std::size_t(stages) + 1), journal_{&journal},
        may_be_used_{[](void* of, std::uint64_t bytes, slot_index slots) {
          return static_cast<Journal*>(of)->may_be_used(bytes, slots);
        }} {}

  [[nodiscard]] bool hold(step_index i) const noexcept { return bytes_[std::size_t(i)] != 0; }
  [[nodiscard]] std::uint64_t all_bytes() const noexcept { return all_bytes_; }
  /// Finds those of another process.   \param usable  usable(head)
  template <class Usable>
  void find(Usable usable) {
    folder_.each_checkpoint([&](slot_index slot, file_head const& head) {
      if (std::size_t(slot) >= bytes_.size() || head.step != std::uint64_t(slot) || !usable(head)) return;
      note(slot, head.stored + sizeof head);
      others_[std::size_t(slot)] = head.state_hash;
    });
  }
  /// The hash of state i as another process had it, until it is compared; 0 if it is not known.
  [[nodiscard]] std::uint64_t hash(step_index i) const noexcept { return others_[std::size_t(i)]; }
  /// Whether state i, which was made again, is the one that another process had.
  template <class Memory>
  [[nodiscard]] bool is_same(Memory const& memory, step_index i) {
    std::uint64_t const hash = std::exchange(others_[std::size_t(i)], 0);
    return hash == 0 || memory.hash(i) == hash;
  }
  /// A state that cannot be written is not held.
  template <class State>
  void save(tier, step_index i, State const& x) {
    note(i, 0);
    std::uint64_t bytes = 0;
    bool const usable = may_be_used_(journal_, written_bytes(x), slot_index(bytes_.size()));
    std::uint16_t const flags = is_unproven_ || !usable ? unproven : 0;
    error_ = folder_.write_slot(i, i, hash_of(x), flags, [&x](auto& sink) { write_state(x, sink); }, bytes);
    if (error_ == 0) note(i, bytes);
  }
  /// Of the last save: 0, or the number of the system's error.
  [[nodiscard]] int error() const noexcept { return error_; }
  /// \throws lost   if it cannot be read; then it is not held any more
  /// \throws invalid_call   if it is not what was written, though the file is whole
  template <class State>
  [[nodiscard]] State load(tier, step_index i) {
    State x{};
    if (!folder_.read_checkpoint(i, i, x, [](auto&) {})) {
      note(i, 0);
      throw lost{};
    }
    return x;
  }
  /// What is written from now on is used by another process only when it is proven.
  void doubt() noexcept { is_unproven_ = true; }
  void prove() noexcept {
    is_unproven_ = false;
    for (step_index i = 0; i < step_index(bytes_.size()); ++i)
      if (hold(i) && (folder_.slot_head(i).flags & unproven) != 0 && may_be_used_(journal_, 0, 0)) folder_.prove_slot(i);
  }
  void drop(step_index i) noexcept {
    note(i, 0);
    folder_.remove_slot(i);
  }

 private:
  void note(step_index i, std::uint64_t bytes) noexcept {
    all_bytes_ += bytes - bytes_[std::size_t(i)];
    bytes_[std::size_t(i)] = bytes;
  }

  run_folder& folder_;
  table<std::uint64_t> bytes_;   // of each state's file; 0 if there is none
  table<std::uint64_t> others_;  // hashes of the states of another process; 0 if not known, or once compared
  std::uint64_t all_bytes_ = 0;
  int error_ = 0;
  bool is_unproven_ = false;
  void* journal_;
  bool (*may_be_used_)(void*, std::uint64_t, slot_index);
};

/// States of a sweep whose plan is obeyed from its beginning, or from any place in it.
/// \tparam Journal  asks before each stage whether the run stops there
template <class Memory, class Replay, class Journal>
class chain_states_in_files : public chain_states<Memory, no_chain_store, Replay> {
  using base = chain_states<Memory, no_chain_store, Replay>;

 public:
  static constexpr bool makes_again = true;
  using base::bytes, base::memory, base::replay;

  chain_states_in_files(Memory& held, no_chain_store& none, step_index stages, Replay& check, chain_files& files,
                        Journal& journal)
      : base{held, none, stages, check}, files_{files}, journal_{journal}, stages_{stages},
        now_{stages, named_tiers::every(), ""}, in_tapes_(std::size_t(stages)) {}

  template <class Stages>
  void advance(Stages& stages, step_index from, step_index to, step_index& failed) {
    bool const ends = is_asked_to_stop();
    base::advance(stages, from, to, failed);
    now_.apply(chain_actions::advance(from));
    compare(to);
    if (ends) end(to);
  }
  void record(step_index from) {
    bool const ends = is_asked_to_stop();
    base::record(from);
    now_.apply(chain_actions::record(from));
    compare(from + 1);
    if (ends) end(from + 1);
  }
  void save(place where, step_index i) {
    now_.apply(chain_actions::save(i, where.where));
    keep(i);
    replay().came_back(memory(), i);
  }
  [[nodiscard]] bool load(place, step_index i) {
    if (!now_.holds_state(i) && !bring(i)) return false;
    replay().loaded(memory(), i);
    return true;
  }
  /// Makes a state that its file has lost, and writes what else is missing on the way.
  template <class Stages>
  [[nodiscard]] std::uint64_t make_again(Stages& stages, place, step_index i, step_index& failed, bool&) {
    return reach(stages, i, failed);
  }
  void drop(place where) {
    step_index const i = where.slot;
    now_.apply(chain_actions::drop(i, where.where));
    if (where.where == tier::memory) {
      if (i < stages_ && now_.holds_tape(i) && !now_.at_hand(i)) in_tapes_[std::size_t(i)] = memory().hash(i);
      memory().drop(i);
    }
    else if (!is_elsewhere(now_, i)) files_.drop(i);
  }
  /// After the adjoint of a stage that left `open` of them, with which the run may end.   \throws stopped
  void after(step_index open) {
    if (open > 0 && journal_.is_ending()) end(open);
  }
  /// The adjoint's part of the sweep has done an action.
  void passed(action const& a) noexcept { now_.apply(a); }
  [[nodiscard]] std::size_t bytes(tier where) const {
    return where == tier::memory ? base::bytes() : where == tier::disk ? std::size_t(files_.all_bytes()) : 0;
  }

  /// Until the seam is closed, nothing that is written is used by another process.   \param hash  0 if not known
  void open_seam(std::uint64_t hash) noexcept {
    if ((seam_ = hash) != 0) files_.doubt();
  }
  /// Compares state i, the last one that an adjoint has had, with that of another process.
  /// \throws nondeterminism_error
  void close_seam(step_index i) {
    if (seam_ == 0) return;
    if (memory().hash(i) != std::exchange(seam_, 0)) refuse_other_arithmetic((std::min)(from_, i - 1), i);
    files_.prove();
  }
  /// The hash of the state on which stage i, whose tape is held, was recorded; 0 if it is not known.
  [[nodiscard]] std::uint64_t hash_of_input(step_index i) {
    return now_.at_hand(i) ? memory().hash(i) : in_tapes_[std::size_t(i)];
  }
  /// Makes what a plan holds at one of its places, from files and from state 0. Files that it does not hold there are
  /// removed. Takes one state more than the plan. Returns how many stages have run.
  /// \param failed  becomes the stage that threw
  template <class Stages>
  [[nodiscard]] std::uint64_t restore(Stages& stages, chain_walk const& held, step_index& failed) {
    for (step_index i = 0; i <= stages_; ++i)
      for (tier const where : elsewhere)
        if (held.holds_state(i, where)) now_.apply(chain_actions::save(i, where));
    std::uint64_t ran = 0;
    for (step_index i = 0; i <= stages_; ++i) {
      bool const state = held.holds_state(i), tape = i < stages_ && held.holds_tape(i);
      if (state || (tape && !now_.at_hand(i))) ran += reach(stages, i, failed);
      if (!tape) continue;
      failed = i;
      record(i);
      ++ran;
      if (!state && now_.holds_state(i)) drop({i, tier::memory});
    }
    for (step_index i = 0; i <= stages_; ++i)
      if (files_.hold(i) && !is_elsewhere(now_, i)) files_.drop(i);
    return ran;
  }

 private:
  /// State i, which was made again, has the bits that another process had.   \throws nondeterminism_error
  void compare(step_index i) {
    if (!files_.is_same(memory(), i)) refuse_other_arithmetic((std::min)(from_, i - 1), i);
  }
  /// Before a stage. If the run is asked to stop, writes what is there; then the stage runs, and `end` follows: of two
  /// states one after the other, the next process compares what it makes of the first.
  [[nodiscard]] bool is_asked_to_stop() {
    if (!journal_.asks_to_stop()) return false;
    journal_.commits_now();
    keep_all();
    return true;
  }
  /// States in memory become files, as far as there is room; tapes are made again.
  void keep_all() {
    if (!journal_.keeps_states() || seam_ != 0) return;
    for (step_index held = 1; held <= stages_; ++held) {
      if (!now_.at_hand(held) || files_.hold(held)) continue;
      memory().save(files_, tier::disk, held);
      if (!journal_.could_write(files_.error(), held)) return;
    }
  }
  /// \param i  the state that was made last, or how many stages are left   \throws stopped
  [[noreturn]] void end(step_index i) {
    keep_all();
    journal_.end(i);
  }
  static constexpr tier elsewhere[] = {tier::device, tier::host, tier::disk};
  [[nodiscard]] static bool is_elsewhere(chain_walk const& walk, step_index i) noexcept {
    return std::any_of(std::begin(elsewhere), std::end(elsewhere), [&](tier t) { return walk.holds_state(i, t); });
  }
  void keep(step_index i) {
    if (!files_.hold(i)) memory().save(files_, tier::disk, i);
  }
  [[nodiscard]] bool bring(step_index i) {
    if (!files_.hold(i)) return false;
    try {
      memory().load(files_, tier::disk, i);
    } catch (chain_files::lost const&) {
      return false;
    }
    now_.apply(chain_actions::load(from_ = i, tier::disk));
    return true;
  }
  /// Makes state i from the nearest one before it that is at hand or in a file. Returns how many stages have run.
  template <class Stages>
  [[nodiscard]] std::uint64_t reach(Stages& stages, step_index i, step_index& failed) {
    if (now_.holds_state(i)) return 0;
    step_index at = i - 1;
    while (!now_.at_hand(at)) --at;
    bool made = false;
    for (step_index other = i; other > at; --other)
      if (bring(other)) at = other, made = true;
    std::uint64_t ran = 0;
    for (; at < i; ++at, ++ran) {
      failed = at;
      advance(stages, at, at + 1, failed);
      if (std::exchange(made, true)) drop({at, tier::memory});
      if (is_elsewhere(now_, at + 1)) keep(at + 1);
    }
    failed = -1;
    return ran;
  }

  chain_files& files_;
  Journal& journal_;
  step_index stages_, from_ = 0;  // from_: the state that a file gave last
  chain_walk now_;  // where everything is
  table<std::uint64_t> in_tapes_;  // hashes of states that were dropped while the tape of their stage is held
  std::uint64_t seam_ = 0;
};

}  // namespace cairn::detail
