// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file checkpoint_files.hpp  The store of a run on disk: slots in memory are frames, all others are files.
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <exception>
#include <memory>
#include <mutex>
#include <optional>
#include <type_traits>
#include <utility>
#include <vector>
#include <cairn/adapt/disk/detail/agreed.hpp>
#include <cairn/adapt/disk/detail/run_folder.hpp>
#include <cairn/core/behind_options.hpp>
#include <cairn/core/detail/state_hash.hpp>
#include <cairn/core/state_bytes.hpp>
#include <cairn/core/state_traits.hpp>
#include <cairn/door/forms.hpp>
#include <cairn/store/detail/beside.hpp>
#include <cairn/store/detail/transfers.hpp>
#include <cairn/store/store.hpp>

namespace cairn::detail {

/// \tparam Value  a state, or the snapshot of an object
/// \tparam Journal  knows what stands beside a state in its file, and what is committed
template <class Value, class Journal>
class checkpoint_files {
 public:
  static constexpr bool may_lose = true, may_end_sweeps = true, looks_ahead = true;
  using value_type = Value;

  /// \param first  a state from which others are made that have no default constructor; may be null otherwise
  /// \param state_bytes  of a state in its file
  /// \param leaf  of the plan   \param all_files  also the slots that the plan has in memory are files
  /// \param behind  how far files may be behind the sweep; those of several processes, which agree on each, are not
  checkpoint_files(run_folder& folder, Journal& journal, Value const* first, std::uint64_t state_bytes,
                   step_index leaf, bool all_files = false, behind_options const& behind = {0, 0})
      : folder_{folder}, journal_{journal}, first_{first}, state_bytes_{state_bytes}, leaf_{leaf},
        all_files_{all_files}, is_behind_{behind.saves > 0} {
    if constexpr (!Journal::agreement::together)
      if (is_any(behind)) later_ = std::make_unique<behind_files>(*this, behind);
  }
  checkpoint_files(checkpoint_files const&) = delete;

  void begin(sweep_shape const& shape) {
    if (later_) later_->all.stop_reading();
    bool const anew = slots_.size() != std::size_t(shape.slots);
    if (!shape.resumed || anew) slots_.assign(std::size_t(shape.slots), {});
    if (!shape.resumed) live_at_ = taken_ = -1, skipped_ = 0;
    in_memory_ = 0;
    for (slot_index slot = 0; slot < shape.slots; ++slot)
      if (in_memory(shape.tier_of(slot))) ++in_memory_;  // a plan may not know which, and then counts all of them
    if (shape.resumed && anew) {
      folder_.each_checkpoint([&](slot_index slot, file_head const& head) {
        if (slot < shape.slots && journal_.may_use(head)) {
          record(slot).at = step_index(head.step);
          record(slot).bytes = (head.stored + sizeof head) & (~std::uint64_t{0} >> 3);
          record(slot).is_others = head.owner != folder_.owner();
        }
      });
      live_at_ = journal_.live_state();
      keep_agreed();
    }
    on_disk_ = 0;
    for (auto const& one : slots_)
      if (one.at >= 0) on_disk_ += one.bytes;
    if (anew && in_memory_ != shape.slots) {
      std::uint64_t each = state_bytes_;
      auto count = [&each](void const*, std::size_t more) { each += more; };
      journal_.write_beside(count);
      folder_.reserve(shape.slots, each, [&](slot_index slot) { return !in_memory(shape.tier_of(slot)); });
    }
    journal_.agreed().meet();  // of several processes, the disk of one may be full
  }
  [[nodiscard]] slot_index extra_frames() const noexcept { return in_memory_ + (later_ ? later_->all.frames() : 0); }
  [[nodiscard]] frame_id frame(slot_index slot) const noexcept { return record(slot).frame; }
  [[nodiscard]] step_index at(slot_index slot) const noexcept { return record(slot).at; }
  [[nodiscard]] std::size_t bytes(tier where) const noexcept {
    if (where == tier::memory) {
      std::size_t const own = io_memory::size + folder_.memory.packer.held();
      return later_ ? 2 * own + later_->staged_bytes() : own;
    }
    return where == tier::disk ? std::size_t(on_disk_) : 0;
  }

  /// A replay check knows the hash of a state before state i, which is saved next.
  void note_hash(step_index i, std::uint64_t, std::uint64_t hash) noexcept { before_ = hash, before_of_ = i; }
  /// Gives a replay check the hashes of the states that are held, as their files say, with those of states before them.
  template <class Fn>
  void each_hash(Fn const& f) {
    static constexpr char const* advice =
        "at first another process made it: what the step reads beside its state must be the same, as static variables; "
        "then processor, libraries and flags; or begin anew with cairn::resume_rule::never";
    auto const head_in = [this](slot_index slot) {
      file_head const head = folder_.slot_head(slot);
      return head.sound() && step_index(head.step) == record(slot).at ? head : file_head{};
    };
    auto const slots = slot_index(slots_.size());
    std::vector<step_index> common;  // of several processes all look at the same states
    if constexpr (Journal::agreement::together) {
      for (slot_index slot = 0; slot < slots; ++slot)
        common.push_back(head_in(slot).sequence != 0 ? record(slot).at : -1);
      agree_on_states(journal_.agreed(), common);
    }
    for (slot_index slot = 0; slot < slots; ++slot)
      if (file_head const head = head_in(slot); record(slot).at >= 0 && head.state_hash != 0)
        f(slot, record(slot).at, head.state_hash,
          common.empty() || common[std::size_t(slot)] >= 0 ? head.sequence : std::uint64_t{0}, advice);
    if constexpr (!Journal::agreement::together)
      if (std::uint64_t const hash = live_at_ >= 0 ? hash_in(run_folder::live_slot) : 0; hash != 0) f(live_at_, hash, advice);
  }
  /// A replay check found another state than before: what this process has written is used by none.
  void is_wrong() noexcept {
    auto const alone = alone_with(beside_);
    if (later_) later_->all.wait();
    folder_.forget_own(slot_index(slots_.size()));
  }
  template <class Frames>
  [[nodiscard]] bool save(Frames& frames, place where, step_index i, frame_id k) {
    auto& slot = record(where.slot);
    empty(slot);
    if (in_memory(where.where)) {
      frames.keep(k);
      slot.frame = k;
      slot.before = before_saved(i);
      return true;
    }
    if (later_ && is_behind_) return save_later(frames, where.slot, i, k);
    std::uint64_t bytes = 0;
    bool const written = write(where.slot, i, std::as_const(frames).state(k), before_saved(i), bytes) == 0;
    if (!on_all(journal_.agreed(), written)) return false;
    slot.at = i;
    slot.bytes = bytes & (~std::uint64_t{0} >> 3);
    on_disk_ += slot.bytes;
    slot.is_others = false;
    slot.is_unproven = journal_.seam_is_open() && can_be_compared(i) && journal_.may_be_used(0, 0);
    return true;
  }
  /// Keeps the final state of a run in a file, if that works.
  void keep_final(step_index n, Value const& state) {
    std::uint64_t bytes = 0;
    (void)write(run_folder::final_slot, n, state, before_saved(n), bytes);
  }
  /// Its number, if it can be used; otherwise -1.
  [[nodiscard]] step_index final_steps() const {
    file_head const head = folder_.slot_head(run_folder::final_slot);
    return head.sound() && journal_.may_use(head) ? step_index(head.step) : -1;
  }
  /// Returns whether it could be read.
  [[nodiscard]] bool read_final(step_index n, Value& into) {
    if (!read(run_folder::final_slot, n, into)) return false;
    took(run_folder::final_slot, n);
    return true;
  }
  template <class Frames>
  [[nodiscard]] frame_id load(Frames& frames, place where, step_index i) {
    auto& slot = record(where.slot);
    if (slot.frame != no_frame) {
      frames.keep(slot.frame);
      return slot.frame;
    }
    if (slot.at != i) return no_frame;
    if (later_ && later_->all.knows(where.slot, i)) {
      extra with;
      frame_id const k = later_->all.load(frames, where.slot, i, with);
      if (k != no_frame) {
        journal_.adopt(with.summed);
        if (slot.is_others) took(where.slot, i);
      }
      look_ahead(frames);
      return k;
    }
    struct holder {
      Frames& all;
      frame_id held;
      ~holder() {
        if (held != no_frame) all.release(held);
      }
    } frame{frames, frames.take()};
    if (frames.reusable(frame.held) == nullptr) {
      if constexpr (std::is_default_constructible_v<Value>) frames.emplace(frame.held, Value{});
      else frames.emplace(frame.held, copy_of(kept_ != no_frame ? std::as_const(frames).state(kept_) : *first_));
    }
    if (!read(where.slot, i, *frames.reusable(frame.held))) {
      empty(slot);
      return no_frame;
    }
    if (slot.is_others) took(where.slot, i);
    if (later_) {
      later_->all.keep_last(frames, where.slot, i, frame.held);
      look_ahead(frames);
    }
    return std::exchange(frame.held, no_frame);
  }
  /// See `store_of`.
  template <class Frames>
  void settle(Frames& frames) {
    if (later_) later_->all.settle(frames);
  }
  template <class Frames>
  void drop(Frames& frames, place where) {
    auto& slot = record(where.slot);
    if (later_) later_->all.forget(frames, where.slot);
    empty(slot);
    if (slot.frame != no_frame) frames.release(std::exchange(slot.frame, no_frame));
  }

  /// Whether the adjoint runs steps itself, because it reverses several at once or records them.
  template <class Adjoint>
  void reverses_by(Adjoint const&) noexcept {
    if constexpr (reference_to_adjoint<Adjoint>) runs_inside_ = leaf_ > 1 || recorder<typename Adjoint::type>;
    else runs_inside_ = leaf_ > 1 || recorder<Adjoint>;
    if (!runs_inside_) journal_.took_only(taken_);
  }
  /// A kept run has its initial state in this frame.
  void initial_is_in(frame_id kept) noexcept { kept_ = kept; }

  template <class Look>
  void reversing(step_index open, Look const& look) {
    compares(open, look);
    journal_.reversing(open, look);
  }
  /// The part of it that runs steps: a sweep on two threads does it where these run, and the other one on the caller's.
  template <class Look>
  void compares(step_index open, Look const& look) {
    bool const unknown = journal_.seam_is_open();
    journal_.compare_above(open, look);
    if (open < taken_) taken_ = -1;  // this process has made the same
    if (!unknown || journal_.seam_is_open()) return;
    if (later_) later_->all.wait();
    for (slot_index slot = 0; slot < slot_index(slots_.size()); ++slot)
      if (record(slot).at >= 0 && record(slot).is_unproven) folder_.prove_slot(slot);
  }
  template <class Look>
  void notes(step_index open, Look const& look) { journal_.reversing(open, look); }
  template <class Bar>
  void reversed(step_index open, Bar const& bar) {
    bool const due = journal_.is_due(open, bar);
    if (!due) {
      if (beside_ == nullptr || !journal_.is_to_be_checked()) return;
      if (std::unique_lock const alone{beside_->files, std::try_to_lock}) (void)is_usable(0, true);
      return;
    }
    auto const alone = alone_with(beside_);
    if (later_ && journal_.tells_files()) later_->all.wait();
    journal_.commit(open, bar);
  }
  /// Whether the run ends with the reversal that left `open` steps.
  [[nodiscard]] bool ends_at(step_index open) const noexcept { return open > 0 && journal_.is_ending(); }
  /// Another thread runs `notes` and `reversed`; null: none does.
  void runs_beside(caller_beside* other) noexcept { beside_ = other; }

  /// Whether anybody may ask for a stop.
  [[nodiscard]] bool is_asked() const noexcept { return journal_.is_asked(); }
  /// Before step i. If the run is asked to stop, writes what is there; then that step runs, and `ends` follows. Steps
  /// that are reversed together stop together: what is made again begins and ends between them.
  /// \param look  look(f) calls f with state i
  template <class Frames, class Look>
  [[nodiscard]] bool stops(Frames& frames, step_index i, Look const& look) {
    if (i % leaf_ != 0 || !journal_.asks_to_stop()) return false;
    if (beside_ != nullptr) beside_->rests(beside_->context);
    if (later_) later_->all.wait();
    journal_.commits_now();
    if (!journal_.keeps_states()) return true;
    std::uint64_t bytes = 0;
    live_at_ = -1;
    if (i > 0 || journal_.is_on_its_way_back())
      look([&](Value const& x) {
        if (journal_.could_write(write(run_folder::live_slot, i, x, 0, bytes), run_folder::live_slot)) live_at_ = i;
      });
    write_frames(frames);
    return true;
  }
  /// The same after that step.   \param from  the step with which its action began   \throws stopped
  template <class Look>
  [[noreturn]] void ends(step_index i, step_index from, Look const& look) {
    if (live_at_ == i - 1) folder_.note_next(look([](auto const& x) { return hash_of(x); }));
    skipped_ -= i - from;  // which are not counted where an action ends
    journal_.end(i - 1);
  }
  /// After a reversal that left `open` steps, with which the run may end.   \throws stopped
  template <class Frames>
  void ends_after(Frames& frames, step_index open) {
    if (!ends_at(open)) return;
    if (later_) later_->all.wait();
    if (journal_.keeps_states()) write_frames(frames);
    journal_.end(open);
  }
  /// The state between two places of the plan that another process has left; -1 if there is none.
  [[nodiscard]] step_index live_at() const noexcept { return live_at_; }
  void skips(step_index from) noexcept { skipped_ += std::exchange(live_at_, -1) - from; }
  [[nodiscard]] step_index skipped() noexcept { return std::exchange(skipped_, 0); }
  /// Returns whether it could be read.   \throws file_error   if it was whole, and then was not
  [[nodiscard]] bool read_live(step_index i, Value& into) {
    if (on_all(journal_.agreed(), folder_.is_whole(run_folder::live_slot, i))) {
      if (read(run_folder::live_slot, i, into)) return journal_.took(taken_ = i, hash_in(run_folder::live_slot)), true;
      refuse_file("the state where a run stopped can be read no more", EIO, folder_.path() + '/' + live_name);
    }
    live_at_ = -1;
    return false;
  }

 private:
  /// What stands beside a state in its file, as it was when the state was saved, or as it is read.
  struct extra {
    std::uint64_t before = 0;
    std::uint16_t flags = 0;
    std::uint16_t size = 0;
    char beside[28] = {};
    typename Journal::partial_sum summed = {};
    void operator()(void const* run, std::size_t bytes) noexcept {
      if (size + bytes > sizeof beside) std::terminate();  // a sum and a number: see `record_content`
      std::memcpy(beside + size, run, bytes);
      size = std::uint16_t(size + bytes);
    }
  };
  /// Files that are written and read on another thread.
  struct behind_files {
    behind_files(checkpoint_files& files, behind_options const& how) : all{files, how} {}
    [[nodiscard]] std::size_t staged_bytes() const {
      std::size_t sum = 0;
      if constexpr (sized_state<Value>) all.each_staged([&sum](Value const& x) { sum += bytes_of(x); });
      return sum;
    }
    io_memory memory;
    transfers<checkpoint_files> all;  // last: its thread ends first
  };
  friend class transfers<checkpoint_files>;

  template <class Frames>
  [[nodiscard]] bool save_later(Frames& frames, slot_index to, step_index i, frame_id k) {
    auto const alone = alone_with(beside_);
    auto& slot = record(to);
    later_->all.forget(frames, to);
    if (slot.has_failed != 0) return slot.has_failed = 0, false;  // what was written there last was not, nor will this be
    if (journal_.choices().append() != 0) return false;
    folder_.beat();
    extra with{before_saved(i), flags_of(to, i)};
    journal_.write_beside(with);
    later_->all.save(frames, to, i, k, std::move(with));
    slot.at = i;
    slot.bytes = 0;
    slot.is_others = false;
    slot.is_unproven = journal_.seam_is_open() && can_be_compared(i) && !journal_.is_changed();
    return true;
  }
  template <class Frames>
  void look_ahead(Frames& frames) {
    if constexpr (std::is_default_constructible_v<Value>)
      later_->all.look_ahead(frames, [this](place where, step_index i) {
        auto const& slot = record(where.slot);
        return slot.frame == no_frame && slot.at == i;
      });
  }
  // on the other thread:
  [[nodiscard]] bool write(slot_index slot, step_index i, Value const& x, extra const& with, std::uint64_t& bytes) {
    folder_.prepare(later_->memory);
    return folder_.write_slot_by(later_->memory, slot, i, hash_of(x), with.flags,
                                 [&](auto& sink) {
                                   write_state(x, sink);
                                   if (with.size > 0) sink(with.beside, with.size);
                                 },
                                 bytes, with.before) == 0;
  }
  [[nodiscard]] bool read(slot_index slot, step_index i, std::optional<Value>& into, extra& with) {
    if constexpr (std::is_default_constructible_v<Value>) {
      if (!into) into.emplace();
      return folder_.read_checkpoint_by(later_->memory, slot, i, *into,
                                        [&](auto& source) { journal_.read_beside(source, with.summed); });
    } else return false;
  }
  // on that of the sweep:
  void saved(slot_index to, step_index i, bool written, std::uint64_t bytes) noexcept {
    auto& slot = record(to);
    if (slot.at != i) return;
    if (written) {
      slot.bytes = bytes & (~std::uint64_t{0} >> 3);
      on_disk_ += slot.bytes;
    } else slot.at = -1, slot.has_failed = 1;
  }
  void not_read(slot_index from, step_index i) noexcept {
    if (record(from).at == i) empty(record(from));
  }

  struct slot_record {
    step_index at = -1;  // the state in the file
    frame_id frame = no_frame;
    std::uint64_t bytes : 61 = 0;  // in the file, once it is written
    std::uint64_t has_failed : 1 = 0;  // the state that was to be written behind the sweep
    std::uint64_t is_unproven : 1 = 0;
    std::uint64_t is_others : 1 = 0;
    std::uint64_t before = 0;  // of a state in memory: the hash of one before it, for a stop
  };
  void empty(slot_record& slot) noexcept {
    if (slot.at >= 0) on_disk_ -= slot.bytes;
    slot.at = -1;
  }
  /// Of several processes none goes on from a state that another one lacks.
  void keep_agreed() {
    if constexpr (Journal::agreement::together) {
      std::vector<step_index> held;
      for (auto const& one : slots_) held.push_back(one.at);
      held.push_back(live_at_);
      agree_on_states(journal_.agreed(), held);
      live_at_ = held.back();
      for (std::size_t slot = 0; slot < slots_.size(); ++slot) slots_[slot].at = held[slot];
    }
  }
  /// Whether another process can compare state i, which is saved now, with what leads to it. Not where a process was
  /// asked to stop, until this one has made the same: it has come there by no step, and the states before are its own.
  [[nodiscard]] bool can_be_compared(step_index i) const noexcept { return i != taken_; }
  /// The hash of a state before state i, which is saved now; 0 if it is not known.
  [[nodiscard]] std::uint64_t before_saved(step_index i) const noexcept { return before_of_ == i ? before_ : 0; }
  /// Returns 0, or the number of the system's error.   \param before  the hash of a state before state i
  [[nodiscard]] int write(slot_index slot, step_index i, Value const& state, std::uint64_t before,
                          std::uint64_t& bytes) {
    auto const alone = alone_with(beside_);
    if (int const error = journal_.choices().append(); error != 0) return error;  // without them nobody could use it
    std::uint64_t const hash = hash_of(state);
    std::uint16_t const flags = flags_of(slot, i);
    auto const write = [&](auto& sink) {
      write_state(state, sink);
      journal_.write_beside(sink);
    };
    return folder_.write_slot(slot, i, hash, flags, write, bytes, before);
  }
  [[nodiscard]] std::uint16_t flags_of(slot_index slot, step_index i) {
    bool const comparable = slot == run_folder::live_slot || can_be_compared(i);
    bool const usable = is_usable(state_bytes_, beside_ == nullptr) && comparable;
    return usable && !journal_.seam_is_open() ? std::uint16_t{0} : unproven;
  }
  /// See `may_be_used`.
  [[nodiscard]] bool is_usable(std::uint64_t bytes, bool checks) {
    bool const was_changed = journal_.is_changed(), usable = journal_.may_be_used(bytes, slot_index(slots_.size()), checks);
    if (later_ && journal_.is_changed() && !was_changed) {  // what is being written was believed to be usable
      later_->all.wait();
      folder_.forget_own(slot_index(slots_.size()));
    }
    return usable;
  }
  /// The slots in memory become files, as far as there is room.
  template <class Frames>
  void write_frames(Frames const& frames) {
    for (slot_index slot = 0; slot < slot_index(slots_.size()); ++slot) {
      frame_id const k = record(slot).frame;
      std::uint64_t bytes = 0;
      if (k == no_frame) continue;
      int const error = write(slot, frames.at(k), frames.state(k), record(slot).before, bytes);
      if (!journal_.could_write(error, slot)) return;
    }
  }
  /// Reads a state with what stands beside it. Of several processes all can, or none does; terms may be sums over all of
  /// them, which are as far on each.
  [[nodiscard]] bool read(slot_index slot, step_index i, Value& into) {
    typename Journal::partial_sum beside;
    auto const read_beside = [&](auto& source) { journal_.read_beside(source, beside); };
    auto const alone = alone_with(beside_);
    bool const right = folder_.read_checkpoint(slot, i, into, read_beside);
    std::uint64_t const summed = right ? std::uint64_t(beside.next + 1) : ~std::uint64_t{0};
    if (!journal_.agreed().same(summed) || !right) return false;
    journal_.adopt(beside);
    return true;
  }
  [[nodiscard]] std::uint64_t hash_in(slot_index slot) const noexcept { return folder_.slot_head(slot).state_hash; }
  /// The sweep goes on from a state of another process. No replay check looks at what steps inside the adjoint lead to.
  void took(slot_index slot, step_index i) {
    if (runs_inside_) journal_.took(i, hash_in(slot));
  }
  [[nodiscard]] bool in_memory(tier where) const noexcept { return where == tier::memory && !all_files_; }
  [[nodiscard]] slot_record& record(slot_index slot) noexcept { return slots_[std::size_t(slot)]; }
  [[nodiscard]] slot_record const& record(slot_index slot) const noexcept { return slots_[std::size_t(slot)]; }

  run_folder& folder_;
  Journal& journal_;
  Value const* first_;
  std::uint64_t state_bytes_;
  step_index leaf_;
  bool all_files_, runs_inside_ = true;
  frame_id kept_ = no_frame;
  std::vector<slot_record> slots_;
  slot_index in_memory_ = 0;
  step_index live_at_ = -1, taken_ = -1, skipped_ = 0;
  std::uint64_t on_disk_ = 0;  // bytes of the files of all slots
  std::uint64_t before_ = 0;  // the hash of a state before state `before_of_`
  step_index before_of_ = -1;
  bool is_behind_ = false;
  caller_beside* beside_ = nullptr;
  std::unique_ptr<behind_files> later_;  // last: its thread ends first
};

}  // namespace cairn::detail
