// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file place_walk.hpp  Tracks what exists during a plan in which each value and tape has the place of its number.
#include <cstddef>
#include <cairn/core/action.hpp>
#include <cairn/core/detail/table.hpp>
#include <cairn/core/error.hpp>

namespace cairn::detail {

/// What `chain_walk` and `graph_walk` share. They say what each action needs and what it makes and frees.
/// One object serves one sweep, and another one after `restart`.   Memory: one byte per place.
class place_walk {
 public:
  /// Begins another sweep.
  void restart() noexcept {
    for (unsigned char& one : held_) one = 0;
    remaining_ = count_ + 1;
    played_ = 0;
  }
  [[nodiscard]] bool holds_tape(step_index i) const noexcept { return holds(i, taped); }
  /// How many adjoints are still to run, the loss included.
  [[nodiscard]] step_index remaining() const noexcept { return remaining_; }
  [[noreturn]] void refuse(char const* problem, action const& a) const {
    throw invalid_schedule{who_, problem, {{"action", played_}, {noun_, a.from}}, ""};
  }

 protected:
  static constexpr unsigned kept = 1u << unsigned(tier::memory), taped = 1u << tier_count;

  /// \param count  of stages or operations   \param noun  what one of them is called   \param who  the public name that
  /// refuses; both texts have static storage
  place_walk(step_index count, char const* noun, char const* who)
      : count_{count}, noun_{noun}, who_{who}, held_(std::size_t(count) + 2), remaining_{count + 1} {}

  void need(bool met, char const* problem, action const& a) const {
    if (!met) refuse(problem, a);
  }
  /// \param own  the action of this kind of plan that `a` must equal
  void need_own(action const& a, action const& own, char const* problem, char const* advice) const {
    if (a != own)
      throw invalid_schedule{
          who_,
          problem,
          {{"action", played_}, {"kind", int(a.kind)}, {"slot", a.slot}, {"from", a.from}, {"to", a.to}},
          advice};
  }
  void need_end(char const* problem, char const* left) const {
    if (remaining_ != 0) throw invalid_schedule{who_, problem, {{"actions", played_}, {left, remaining_}}, ""};
  }

  [[nodiscard]] step_index count() const noexcept { return count_; }
  [[nodiscard]] bool holds(step_index i, unsigned bits) const noexcept { return (held_[std::size_t(i)] & bits) != 0; }
  void set(step_index i, unsigned bits) noexcept {
    held_[std::size_t(i)] = static_cast<unsigned char>(held_[std::size_t(i)] | bits);
  }
  void clear(step_index i, unsigned bits) noexcept {
    held_[std::size_t(i)] = static_cast<unsigned char>(held_[std::size_t(i)] & ~bits);
  }
  /// Counts an action that has been applied.
  void pass(action const& a) noexcept {
    if (a.kind == action_kind::turn || a.kind == action_kind::reverse) remaining_ = a.from;
    ++played_;
  }

 private:
  step_index count_;
  char const* noun_;
  char const* who_;
  table<unsigned char> held_;  ///< for each place: a bit for each tier that holds the value, and one for the tape
  step_index remaining_;
  std::size_t played_ = 0;
};

}  // namespace cairn::detail
