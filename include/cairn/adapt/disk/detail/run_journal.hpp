// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file run_journal.hpp  What a run notes on its way back, and the check of its seam when another process goes on.
#include <chrono>
#include <cmath>
#include <cstdint>
#include <type_traits>
#include <utility>
#include <cairn/adapt/disk/detail/run_folder.hpp>
#include <cairn/core/detail/state_hash.hpp>
#include <cairn/core/error.hpp>
#include <cairn/core/forms.hpp>
#include <cairn/core/state_bytes.hpp>
#include <cairn/core/state_traits.hpp>
#include <cairn/run/detail/advanced_copy.hpp>
#include <cairn/run/detail/come_back.hpp>
#include <cairn/run/detail/given_parts.hpp>

namespace cairn::detail {

/// The sums of a sweep beside its adjoint: dp, and the value of an objective.
/// \tparam DP  no_params if there is none   \tparam Terms  no_terms if there are none
template <class DP, class Terms>
struct run_sums {
  static constexpr bool has_params = !std::is_same_v<DP, no_params>;
  static constexpr bool has_terms = !std::is_same_v<Terms, no_terms>;
  DP* dp = nullptr;
  Terms* terms = nullptr;
};

/// Commits a record when as much time has passed as makes the expected loss least: sqrt(2 C MTBF) for a commit that
/// takes C (Young, A first order approximation to the optimum checkpoint interval, 1974).
/// \tparam Object  the object of a loop over one, or void
template <class State, class Step, class Sums, class Object>
class run_journal {
 public:
  /// What stands beside a state: the sum of the terms of all states before it.
  struct partial_sum {
    double value = 0;
    step_index next = 0;
  };

  run_journal(run_folder& folder, Step& step, Sums sums, Object* object, double seconds_between_failures,
              std::int64_t every)
      : folder_{folder}, step_{step}, sums_{sums}, object_{object}, failures_{seconds_between_failures},
        every_{every} {}

  /// Records are written.
  void commits() noexcept { commits_ = true; }
  /// Another process had a record for `open`, with this hash of that state; 0 if it is not known.
  void seam(step_index open, std::uint64_t hash) noexcept { seam_ = hash != 0 ? open : -1, seam_hash_ = hash; }
  [[nodiscard]] std::int64_t committed() const noexcept { return committed_; }

  template <class Sink>
  void write_beside(Sink& sink) const {
    if constexpr (Sums::has_terms) {
      write_state(sums_.terms->value(), sink);
      write_state(sums_.terms->steps(), sink);
    }
  }
  [[nodiscard]] partial_sum beside() const noexcept { return {}; }
  template <class Source>
  void read_beside([[maybe_unused]] Source& source, [[maybe_unused]] partial_sum& into) const {
    if constexpr (Sums::has_terms) {
      read_state(into.value, source);
      read_state(into.next, source);
    }
  }
  /// A sum over more states than are summed here, as another process had it.
  void adopt([[maybe_unused]] partial_sum const& of) noexcept {
    if constexpr (Sums::has_terms)
      if (of.next > sums_.terms->steps()) sums_.terms->go_on(of.value, of.next);
  }

  template <class Bar, class Source>
  void read_record(Bar& bar, Source& source, partial_sum& all) {
    read_state(bar, source);
    if constexpr (Sums::has_params) read_state(*sums_.dp, source);
    read_beside(source, all);
  }

  /// Called before the adjoint reaches state `open`; look(f) calls f with that state.
  template <class Look>
  void reversing(step_index open, Look const& look) {
    if (seam_ > open) check_seam(open, look);
    due_ = commits_ && open > 0 && is_time();
    if (!due_) return;
    noted_ = open;
    hash_ = look([](auto const& x) { return known_hash(x); });
  }
  template <class Bar>
  void reversed(step_index open, [[maybe_unused]] Bar const& bar) {
    ++since_;
    if (!commits_ || (open > 0 && (!due_ || noted_ != open))) return;
    if constexpr (written_state<Bar>) {
      auto const before = clock::now();
      folder_.commit(open, open > 0 ? hash_ : 0, [&](auto& sink) {
        write_state(bar, sink);
        if constexpr (Sums::has_params) write_state(*sums_.dp, sink);
        write_beside(sink);
      });
      last_ = clock::now();
      double const cost = std::chrono::duration<double>(last_ - before).count();
      interval_ = std::sqrt(2 * cost * failures_);
      ++committed_;
      since_ = 0;
      due_ = false;
    }
  }

 private:
  using clock = std::chrono::steady_clock;

  template <class T>
  [[nodiscard]] static std::uint64_t known_hash(T const& x) {
    if constexpr (hashable<T>) return hash_of(x);
    else return 0;
  }
  [[nodiscard]] bool is_time() const {
    if (every_ > 0) return since_ + 1 >= every_;
    return std::chrono::duration<double>(clock::now() - last_).count() >= interval_;
  }
  /// Runs to the state of the record once more.   \throws nondeterminism_error
  template <class Look>
  void check_seam(step_index open, Look const& look) {
    step_index const at = std::exchange(seam_, -1);
    step_index failed = open;
    std::uint64_t const again = look([&](auto const& x) -> std::uint64_t {
      if constexpr (std::is_void_v<Object>) {
        advanced_copy<State> after{x, shape_of_step<Step, State>().form};
        after.run(step_, open, at, failed);
        return known_hash(std::as_const(after).state());
      } else {
        auto const before = taken_snapshot(std::as_const(*object_));
        restore_state(*object_, x);
        run_in_place(step_, *object_, open, at, failed);
        auto const hash = known_hash(taken_snapshot(std::as_const(*object_)));
        restore_state(*object_, before);
        return hash;
      }
    });
    if (again == seam_hash_) return;
    replay_difference seen;
    seen.state = at;
    seen.first_step = open;
    seen.last_step = at - 1;
    throw nondeterminism_error{
        "cairn::disk", "a state differs from what the process that stopped had", seen,
        "both need the same processor, libraries and compiler flags; or begin anew with cairn::resume_rule::never"};
  }

  run_folder& folder_;
  Step& step_;
  Sums sums_;
  Object* object_;
  double failures_;
  std::int64_t every_, since_ = 0, committed_ = 0;
  double interval_ = 1;
  clock::time_point last_ = clock::now();
  step_index seam_ = -1, noted_ = -1;
  std::uint64_t seam_hash_ = 0, hash_ = 0;
  bool commits_ = false, due_ = false;
};

}  // namespace cairn::detail
