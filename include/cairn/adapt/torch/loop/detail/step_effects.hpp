// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file step_effects.hpp  What the steps of a loop read from outside, and what they change there.
#include <algorithm>
#include <cstddef>
#include <string>
#include <utility>
#include <vector>
#include <ATen/core/Tensor.h>
#include <cairn/adapt/torch/state/rng_states.hpp>
#include <cairn/adapt/torch/state/detail/read_tracker.hpp>
#include <cairn/adapt/torch/state/detail/write_log.hpp>
#include <cairn/adapt/torch/state/tensor_state.hpp>
#include <cairn/core/action.hpp>
#include <cairn/core/error.hpp>

namespace cairn::libtorch::detail {

/// Pieces of memory, and generators of the program's own, as they were before the first step that wrote to them or drew
/// from them. Memory whose earlier values a step needs is stored with each state; a trajectory nobody reads is not.
class outside_memory {
 public:
  outside_memory() = default;
  /// \param named  by the user: earlier values are needed
  explicit outside_memory(at::TensorList named) : first_{named} { pieces_.resize(first_.size(), {0, true, false}); }

  [[nodiscard]] std::size_t size() const noexcept { return first_.size(); }
  /// What lies in these pieces is not noted anew.
  void leave_out_of(write_log& log) const {
    for (auto const& one : first_.images()) log.leave_out(one.key());
    for (auto const& one : first_.generators()) log.leave_out(one.key());
  }
  /// What a step has changed that is not known, as it was before it.
  void add(write_log const& log, step_index step) {
    first_.add(log);
    pieces_.resize(first_.size(), {step, false, false});
  }
  /// Notes which earlier values a step has read.
  /// \throws invalid_call   if they are missing with a state that is stored already
  void note_reads(read_tracker const& tracker, step_index step, char const* who) {
    last_ = step;
    for (std::size_t k = 0; k < size(); ++k) {
      auto& one = pieces_[k];
      if (one.is_needed || !tracker.needs_earlier(first_.images()[k].key())) continue;
      one.is_needed = true;
      if (one.is_missing)
        throw invalid_call{who,
                           "a step reads what earlier steps have written, but the first ones did not",
                           {{"step", step}, {"bytes", first_.images()[k].bytes()}},
                           "name the tensor by LoopOptions::buffers, or make it a part of the state"};
    }
  }
  /// To be stored with a state: what is needed, as it is now.   \param last  what was stored last
  [[nodiscard]] memory_images stored_now(memory_images const& last) const {
    below_autograd const unseen;
    memory_images all;
    for (std::size_t k = 0; k < size(); ++k) {
      auto const& before = k < last.size() && last.images()[k].has_values() ? last.images()[k] : first_.images()[k];
      auto const& one = pieces_[k];
      bool const is_stored = one.is_needed || last_ <= one.first;  // the step after the first may read it
      one.is_missing = one.is_missing || (!is_stored && before.is_changed());
      if (!is_stored) all.add(before.without_values());
      else all.add(before.is_changed() ? before.now() : before);
    }
    all.add_now(first_.generators());
    return all;
  }
  /// What was stored with a state. What was not was as at first, or nobody needs it.
  void put_back(memory_images const& stored) const {
    stored.put_back();
    below_autograd const unseen;
    for (std::size_t k = 0; k < size(); ++k)
      if (pieces_[k].is_needed && (k >= stored.size() || !stored.images()[k].has_values())) {
        auto const& one = first_.images()[k];
        if (one.is_changed()) one.put_back();
      }
    for (auto const& one : first_.generators())
      if (!stored.holds_generator(one.key())) one.put_back();
  }
  /// All pieces, as they were at first.
  [[nodiscard]] memory_images const& first() const noexcept { return first_; }

 private:
  struct piece {
    step_index first;  ///< step that wrote to it
    bool is_needed;
    mutable bool is_missing;  ///< with some state that was stored
  };
  memory_images first_;
  std::vector<piece> pieces_;
  step_index last_ = 0;  ///< step whose reads are known
};

/// Generators and buffers as they were before a step.
struct step_surroundings {
  generator_states generators;
  memory_images buffers;
  void list_tensors(tensor_list& all) const {
    generators.list_tensors(all);
    buffers.list_tensors(all);
  }
};

/// Restores memory at the end of a scope, as it was at its beginning.
class memory_guard {
 public:
  explicit memory_guard(memory_images now) : now_{std::move(now)} {}
  memory_guard(memory_guard const&) = delete;
  memory_guard& operator=(memory_guard const&) = delete;
  ~memory_guard() { now_.put_back(); }

 private:
  memory_images now_;
};

[[noreturn]] inline void refuse_earlier_state(char const* who, step_index i) {
  throw invalid_call{who, "the step reads a state of its own loop, but not from its argument", {{"step", i}},
                     "read the argument; for an earlier state, make the state a tuple of both"};
}

/// The tensors that the steps of a loop read besides their arguments.
class step_reads {
 public:
  bool tracks_later = true;  ///< whether some of the steps without a tape are tracked

  /// How parameters are compared.
  void compare(Check how) noexcept { reads_.compare(how); }
  /// Step i reads this tensor.
  void add(at::Tensor const& t, step_index i) { reads_.add(t, i); }
  /// Whether to track step i though it is run without a tape: the last step, steps 2^k and 2^k + 1, and every step as
  /// soon as such a step has read something new, or if tracking costs little.
  /// \param steps  of the loop, or 0 if that is not known   \pre i > 0
  [[nodiscard]] bool tracks(step_index i, step_index steps) const noexcept {
    auto const is_power = [](step_index k) { return (k & (k - 1)) == 0; };
    return tracks_later && (tracks_all_ || is_power(i) || is_power(i - 1) || i + 1 == steps);
  }
  /// From now on what lies in this memory may change.
  void leave_out(void const* memory) { reads_.leave_out(memory); }
  /// Notes what a step has read.   \param given  its state and inputs   \param y  what it made
  /// \param parts  number of parts of a state
  /// \param keeps  whether what it made may be kept by the program
  void note(read_tracker const& tracker, at::TensorList given, at::TensorList y, std::size_t parts, step_index i,
            char const* who, bool keeps) {
    settle(who);
    auto const reads = tracker.reads(given);
    bool varies = false;
    for (auto const& read : reads) {
      auto const t = read.lock();
      if (state_read_ < 0 && states_made_.holds(t)) state_read_ = i;
      // A view that each step makes anew, such as a row of its input, is not a new tensor.
      varies = varies || (i > 0 && !reads_.knows_memory_of(t));
    }
    // The step's own state, but not through its argument: such a step keeps the state in an object.
    tracker.each_read_beside(given, [&](void const* memory) {
      if (state_read_ < 0 && states_made_.number_of(memory) >= 0) state_read_ = i;
    });
    reads_.add(reads, i);
    tracker.each_read(given, [&](void const* memory, storage_set::weak_storage const& storage) {
      varies = varies || (i > 0 && read_since_.number_of(memory) < 0 && storage.expired());  // replaced by this step
      read_since_.add(storage, last_tracked_ + 1);
    });
    last_tracked_ = i;
    tracks_all_ = tracks_all_ || varies || tracker.costs_little();
    if (keeps) note_made(tracker, y, i, false);
    for (std::size_t k = 0; k < parts && k < y.size(); ++k)
      if (y[k].defined() && tracker.made(y[k])) states_made_.add(y[k]);
  }
  /// Notes the state that a step without tracking made, so that a later step that is tracked cannot read it unseen.
  /// Parts in the memory of its arguments, or of what steps read, do not count as made by it.
  /// \param given  its state, of `parts` tensors, and its inputs   \param y  its result, which begins with the parts of
  ///   the next state
  void note_made(at::TensorList given, std::size_t parts, at::TensorList y) {
    if (!tracks_later) return;
    for (std::size_t k = 0; k < parts && k < y.size(); ++k) {
      if (!y[k].defined()) continue;
      auto const* const memory = memory_key(y[k]);
      if (!any_in_memory(given, memory) && !reads_.knows_memory_of(y[k])) states_made_.add(y[k]);
    }
  }
  /// A step writes to memory, or draws from a generator, that was not known: from now on all steps are tracked.
  /// \throws invalid_call   if steps that were not tracked may have done so before
  void note_write(step_index i, write_log const& changes, char const* who) {
    tracks_all_ = tracks_all_ || tracks_later;
    if (i > last_tracked_ + 1 && !changes.generators().empty())
      throw invalid_call{who,
                         "a step draws from a generator of its own, and it is not known whether earlier steps did",
                         {{"step", i}, {"steps not seen", i - last_tracked_ - 1}},
                         "use Capture::EveryStep, or draw from the default generator"};
    for (auto const& one : changes.images()) {
      if (auto const made = made_.number_of(one.key()); made >= 0 && made != i)
        throw invalid_call{who,
                           "a step writes to a tensor that an earlier step has made",
                           {{"step", i}, {"made by step", made}},
                           "make it before the loop, or a part of the state"};
      if (i > last_tracked_ + 1 && one.version() != 0 && read_since_.number_of(one.key()) < 0)
        throw invalid_call{who,
                           "a step writes to a tensor, and it is not known whether earlier steps did",
                           {{"step", i}, {"steps not seen", i - last_tracked_ - 1}},
                           "name the tensor by LoopOptions::buffers"};
    }
  }
  /// Whether second runs are to be compared: some step has made a tensor that outlives it and is no state.
  [[nodiscard]] bool looks_again() const noexcept { return has_makers_; }
  /// The tapes of the steps before are gone.
  /// \throws invalid_call   if a step made something anew that it is only known to make once
  void settle(char const* who) const {
    std::vector<step_index> again;
    for (auto const& one : may_be_kept_) {
      if (one.memory.expired()) continue;
      made_.add(one.memory, one.step);
      has_makers_ = true;
      if (one.is_again) again.push_back(one.step);
    }
    may_be_kept_.clear();
    for (auto const step : std::exchange(kept_by_, {}))
      if (std::find(again.begin(), again.end(), step) != again.end()) refuse_other_read(who, step);
  }
  /// What a step reads in its second run, it has read in its first one.
  /// \throws invalid_call   if it reads what another step has made
  void compare(read_tracker const& tracker, at::TensorList given, at::TensorList y, step_index i,
               char const* who) const {
    tracker.each_read(given, [&](void const* memory, storage_set::weak_storage const&) {
      auto const since = read_since_.number_of(memory), made = made_.number_of(memory);
      if (since >= 0 && since <= i) return;
      if (since < 0 && made < 0) return;  // not made by steps: what it holds is the program's
      if (made != i || since < 0) refuse_other_read(who, i);
      kept_by_.push_back(i);  // made once by this step, unless it makes it anew now
    });
    note_made(tracker, y, i, true);
  }
  /// \throws invalid_call   if a step was seen to read an earlier state
  void check_states(char const* who) const {
    if (state_read_ >= 0) refuse_earlier_state(who, state_read_);
  }
  /// \throws invalid_call   if a tensor has changed since a step read it
  void check_unchanged(char const* who) const {
    if (auto const k = reads_.first_changed(); k < reads_.size())
      throw invalid_call{
          who,
          (std::string{"a captured tensor was changed in place since the loop used it"} + reads_.text(k)).c_str(),
          {{"step", reads_.step(k)}, {"captured tensor", k}, {"of", reads_.size()}},
          "run backward before the optimiser's step, and change nothing that the step uses from within it"};
    if (auto const k = reads_.first_rewritten(); k < reads_.size())
      throw invalid_call{who,
                         (std::string{rewritten} + reads_.text(k)).c_str(),
                         {{"step", reads_.step(k)}, {"captured tensor", k}, {"of", reads_.size()}},
                         rewritten_advice};
  }

 private:
  [[noreturn]] static void refuse_other_read(char const* who, step_index i) {
    throw invalid_call{who,
                       "a step that runs again reads a tensor that it did not read the first time, and another run "
                       "of a step has made it",
                       {{"step", i}},
                       "make what steps hand on a part of the state, or write to a tensor in place of assigning one"};
  }
  /// What a step has made beside its results is looked at when its tape is gone.
  void note_made(read_tracker const& tracker, at::TensorList y, step_index i, bool is_again) const {
    tracker.each_made([&](void const* memory, storage_set::weak_storage const& storage) {
      if (!any_in_memory(y, memory)) may_be_kept_.push_back({storage, i, is_again});
    });
  }
  struct made_memory {
    storage_set::weak_storage memory;
    step_index step;
    bool is_again;  ///< in a second run
  };

  read_list reads_;
  mutable storage_set made_;  ///< what steps have made and left, with the step
  mutable std::vector<made_memory> may_be_kept_;
  mutable std::vector<step_index> kept_by_;  ///< steps whose second run reads what their first one made
  mutable bool has_makers_ = false;
  storage_set read_since_;  ///< what steps have read, with the first step that may have
  step_index last_tracked_ = -1;
  storage_set states_made_;  ///< memory of states that were made while reads were tracked
  step_index state_read_ = -1;  ///< the first step that was seen to read one of them
  bool tracks_all_ = false;  ///< every later step is tracked
};

}  // namespace cairn::libtorch::detail
