// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file jump_trail.hpp  The states before the jumps and runs of steps of one adjoint call.
#include <cstddef>
#include <optional>
#include <utility>
#include <vector>
#include <cairn/core/detail/compiler.hpp>
#include <cairn/core/state_traits.hpp>
#include <cairn/door/forms.hpp>
#include <cairn/run/with/detail/jump_kinds.hpp>

namespace cairn::detail {

/// Makes `into` a copy of x, in its memory if it holds a state already.
template <class State>
void put_copy(std::optional<State>& into, State const& x) {
  if (into) copy_state(x, *into);
  else emplace_by(into, [&] { return copy_of(x); });
}

/// The jumps and runs of steps of one pass over some steps, in order, with the state before each. Memory is kept from
/// call to call.
template <class State>
class jump_trail {
 public:
  static constexpr std::size_t of_steps = std::size_t(-1);
  struct mark {
    std::optional<State> stored;  // may hold a state from an earlier call
    State const* x = nullptr;     // null: in `stored`
    std::size_t jump = of_steps;
    step_index from = 0, to = 0;
  };

  /// \param x  the first state; must outlive the walk
  void begin(State const& x) noexcept {
    used_ = 0;
    start_ = &x;
    moved_ = false;
  }
  /// The present state of the walk.
  [[nodiscard]] State const& here() const noexcept { return moved_ ? *live_ : *start_; }
  /// The same, for a step or jump that changes it.
  [[nodiscard]] State& live() {
    if (!std::exchange(moved_, true)) put_copy(live_, *start_);
    return *live_;
  }
  /// Notes that a jump, or a run of steps, begins here.
  /// \param ends  the walk ends here, so that the state is not copied
  void note(std::size_t jump, step_index from, bool ends = false) {
    if (used_ == marks_.size()) marks_.emplace_back();
    mark& made = marks_[used_++];
    made.jump = jump;
    made.from = made.to = from;
    made.x = nullptr;
    if (!moved_) made.x = start_;
    else if (ends) made.x = address_of(*live_);
    else put_copy(made.stored, *live_);
  }
  /// Runs step i on the present state.
  template <class Step, class Params>
  void run(Step& step, Params const& p, step_index i) {
    if constexpr (step_in_loop<Step, State, Params>().form == step_form::out_of_place) {
      put_copy(next_, here());  // a state of the same shape; what it holds is not read
      move_to(step, here(), *next_, p, i);
      moved_ = true;
      using std::swap;
      swap(live_, next_);
    } else move_on(step, live(), p, i);
  }
  [[nodiscard]] std::size_t size() const noexcept { return used_; }
  [[nodiscard]] mark& operator[](std::size_t k) noexcept { return marks_[k]; }
  /// The state at a mark, for the reverse pass.
  [[nodiscard]] State const& back_at(mark const& m) const noexcept { return m.x != nullptr ? *m.x : *m.stored; }

 private:
  std::vector<mark> marks_;
  std::size_t used_ = 0;
  State const* start_ = nullptr;
  std::optional<State> live_, next_;
  bool moved_ = false;
};

/// The same for an object: the object itself runs, and is restored to the start of each part.
template <saved_state State>
class jump_trail<State> {
 public:
  static constexpr std::size_t of_steps = std::size_t(-1);
  struct mark {
    std::optional<stored_as<State>> stored;  // may be left from another call
    bool moved_on = false;                   // the object has gone on from there, and `stored` is where it was
    std::size_t jump = of_steps;
    step_index from = 0, to = 0;
  };

  void begin(State& x) noexcept {
    used_ = 0;
    live_ = &x;
  }
  [[nodiscard]] State const& here() const noexcept { return *live_; }
  [[nodiscard]] State& live() noexcept { return *live_; }
  void note(std::size_t jump, step_index from, bool ends = false) {
    if (used_ == marks_.size()) marks_.emplace_back();
    mark& made = marks_[used_++];
    made.jump = jump;
    made.from = made.to = from;
    made.moved_on = !ends;
    if (ends) return;
    if constexpr (saves_into<State>) {
      if (made.stored) return save_state(here(), *made.stored);
    }
    emplace_by(made.stored, [this] { return taken_snapshot(here()); });
  }
  template <class Step, class Params>
  void run(Step& step, Params const& p, step_index i) { move_on(step, live(), p, i); }
  [[nodiscard]] std::size_t size() const noexcept { return used_; }
  [[nodiscard]] mark& operator[](std::size_t k) noexcept { return marks_[k]; }
  [[nodiscard]] State& back_at(mark const& m) const {
    if (m.moved_on) restore_state(*live_, *m.stored);
    return *live_;
  }

 private:
  std::vector<mark> marks_;
  std::size_t used_ = 0;
  State* live_ = nullptr;
};

}  // namespace cairn::detail
