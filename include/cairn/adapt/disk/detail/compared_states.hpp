// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file compared_states.hpp  What a run uses of another process, and compares with what it makes itself.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <utility>
#include <vector>
#include <cairn/adapt/disk/detail/agreed.hpp>
#include <cairn/adapt/disk/detail/choice_file.hpp>
#include <cairn/adapt/disk/detail/record_content.hpp>
#include <cairn/adapt/disk/detail/run_folder.hpp>
#include <cairn/core/detail/state_hash.hpp>
#include <cairn/core/error.hpp>
#include <cairn/core/state_traits.hpp>
#include <cairn/run/sweep/detail/advanced_copy.hpp>

namespace cairn::detail {

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

/// \tparam Object  the object of a loop over one, or void   \tparam Choices  that its steps make, or no_choices
/// \tparam Agreement  with whom the same moments are chosen
template <class State, class Step, class Sums, class Object, class Choices, class Agreement>
class compared_states : public record_content<Sums, Object> {
 public:
  using agreement = Agreement;
  using typename record_content<Sums, Object>::partial_sum;

  /// \param choices  of its steps; null if there are none
  compared_states(run_folder& folder, Step* step, Sums sums, Object* object, Choices* choices, Agreement const& all)
      : record_content<Sums, Object>{sums, object}, all_{all}, folder_{folder}, choices_{folder, choices}, step_{step} {}

  [[nodiscard]] Agreement const& agreed() const noexcept { return all_; }
  [[nodiscard]] Agreement& agreed() noexcept { return all_; }
  [[nodiscard]] choice_file<Choices>& choices() noexcept { return choices_; }
  /// A kept run moves, and its step with it.
  void runs(Step& step) noexcept { step_ = &step; }
  /// Whether a checkpoint with this head, which is one of this run, may be used.
  [[nodiscard]] bool may_use(file_head const& head) const {
    return (head.flags & unproven) == 0 && choices_.reach(head.step);
  }
  /// Another process had a record for `open`, with this hash of that state; 0 if it is not known.
  void seam(step_index open, std::uint64_t hash) noexcept {
    seam_ = {hash != 0 ? open : -1, hash};
    std::erase_if(taken_, [open](auto const& one) { return one.at >= open; });
  }
  /// Whether the arithmetic of this process still has to be compared with that of the one before it.
  [[nodiscard]] bool seam_is_open() const noexcept { return seam_.at >= 0; }
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
  /// What states of this process another one may use; without, none is written where the run is asked to stop.
  void trusts_states(bool are) noexcept { trusts_states_ = are; }
  /// Whether a state that is written now can be used by another process.
  [[nodiscard]] bool keeps_states() const noexcept { return trusts_states_ && !seam_is_open(); }
  /// The state where another process was asked to stop between two places of the plan; -1 if none can be used.
  [[nodiscard]] step_index live_state() const {
    file_head const head = folder_.slot_head(run_folder::live_slot);
    bool const is_comparable = head.sequence != 0 || head.state_hash == 0;  // else the process was killed meanwhile
    return trusts_states_ && head.sound() && is_comparable && may_use(head) ? step_index(head.step) : -1;
  }
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
      if (reads(from.slot, from.state, x))
        return compare(std::as_const(x), from.state, all[best].state, all[best].hash);
      all.erase(all.begin() + std::ptrdiff_t(best) - 1);  // it is damaged
    }
  }

  /// The sweep goes back below state `open` + 1: of all states of another process above `open` this one must make the
  /// same.   \param look  look(f) calls f with state `open`   \throws nondeterminism_error
  template <class Look>
  void compare_above(step_index open, Look const& look) {
    auto const check = [&](other_state const& one) {
      look([&](auto const& x) { compare(x, open, one.at, one.hash); });
    };
    for (; !taken_.empty() && taken_.front().at > open; taken_.erase(taken_.begin())) check(taken_.front());
    if (seam_.at <= open) return;
    check(seam_);
    seam_.at = -1;
  }

 protected:
  /// What another process left is not used any more.
  void forget_others() noexcept {
    seam_ = {};
    taken_.clear();
    all_know_ = false;
    choices_.forget();
  }

  [[no_unique_address]] Agreement all_;
  run_folder& folder_;
  choice_file<Choices> choices_;
  bool all_know_ = false;  // that what another process left is another trajectory

 private:
  /// A state that another process has had, with its hash; -1 if there is none.
  struct other_state {
    step_index at = -1;
    std::uint64_t hash = 0;
  };
  /// Whether all can read a state.
  template <class Value>
  [[nodiscard]] bool reads(slot_index slot, step_index at, Value& into) {
    partial_sum ignored;
    return on_all(all_, folder_.read_checkpoint(slot, at, into,
                                                [&](auto& source) { this->read_beside(source, ignored); }));
  }
  /// The comparison of `check_stretch` from the state where another process was asked to stop. Returns whether there is
  /// one.
  template <class Value>
  [[nodiscard]] bool compare_live(Value const& x0) {
    step_index const at = live_state();
    std::vector<step_index> held{at};
    agree_on_states(all_, held);
    if (held[0] < 0) return false;
    Value x = copy_of(x0);
    std::uint64_t const next = folder_.slot_head(run_folder::live_slot).sequence;
    if (bool const read = reads(run_folder::live_slot, at, x); !on_all(all_, read && next != 0)) return false;
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
      auto const before = taken_snapshot(std::as_const(*this->object_));
      restore_state(*this->object_, x);
      run_in_place(*step_, *this->object_, from, at, failed);
      again = hash_of(taken_snapshot(std::as_const(*this->object_)));
      restore_state(*this->object_, before);
    }
    if (on_all(all_, again == hash)) return;
    all_know_ = true;
    refuse_other_arithmetic(from, at);
  }

  Step* step_;
  other_state seam_;                // of the record
  std::vector<other_state> taken_;  // of states, the latest one first
  bool trusts_states_ = false;
};

}  // namespace cairn::detail
