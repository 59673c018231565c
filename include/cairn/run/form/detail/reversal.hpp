// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file reversal.hpp  Calls the user's adjoint in each of its forms, and keeps the tapes of recording adjoints.
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <new>
#include <optional>
#include <type_traits>
#include <utility>
#include <cairn/core/bytes_of.hpp>
#include <cairn/core/detail/table.hpp>
#include <cairn/core/error.hpp>
#include <cairn/core/sweep_bytes.hpp>
#include <cairn/door/detail/leaf_bytes.hpp>
#include <cairn/door/detail/lending.hpp>
#include <cairn/door/forms.hpp>
#include <cairn/rules/frames_needed.hpp>
#include <cairn/run/form/detail/loop_adjoint.hpp>
#include <cairn/run/sweep/detail/byte_limit.hpp>
#include <cairn/run/sweep/detail/cached_object.hpp>
#include <cairn/run/sweep/detail/end_hash.hpp>
#include <cairn/run/sweep/detail/execute.hpp>
#include <cairn/run/sweep/detail/maybe.hpp>

namespace cairn::detail {

/// `tape = record(x, i)`: advances x by one step.
template <class Record, class State>
decltype(auto) record_step(Record& record, State& x, step_index const i) {
  if constexpr (calls<Record, State&, step_index>) return record(x, i);
  else return record(x);
}
struct no_tape {};
/// Whether the adjoint can restore a state from a tape.
template <class Adjoint, class State, class Tape>
inline constexpr bool restarts = requires(Adjoint& adjoint, Tape const& tape) {
  { adjoint.restart(tape) } -> std::convertible_to<stored_as<State> const&>;
};
template <class Adjoint, class State, bool Records>
struct tape_of { using type = no_tape; };
template <class Adjoint, class State>
struct tape_of<Adjoint, State, true> {
  using type = std::remove_cvref_t<decltype(record_step(std::declval<Adjoint&>().record, std::declval<State&>(), 0))>;
};

/// The adjoint as the sweep calls it: bound, or in two parts.
template <class Adjoint, class State, class Bar>
struct way_back {
  static constexpr bool binds =
      !bound_as<Adjoint, adjoint_shape> && shape_of_adjoint<Adjoint, State, Bar>().form != adjoint_form::recorded;
  static decltype(auto) of(Adjoint& adjoint) {
    if constexpr (binds) return bind_adjoint<State, Bar>(adjoint, no_parameters, no_gradient);
    else return (adjoint);
  }
  using type = decltype(of(std::declval<Adjoint&>()));
};

/// Numbered places for tapes, which need not be movable. They take the same bytes whether or not a tape has a
/// destructor; new[] does not, because it stores how many objects to destroy.
template <class Tape>
class tape_slots {
 public:
  tape_slots() = default;
  tape_slots(tape_slots const&) = delete;
  ~tape_slots() { end(); }
  /// Makes all places empty; allocates only if more are needed.
  void begin(std::size_t size) {
    clear();
    if (size <= size_) return;
    end();
    tapes_ = raw_array<std::optional<Tape>>{size};
    for (; size_ < size; ++size_) ::new (static_cast<void*>(tapes_.get() + size_)) std::optional<Tape>;
  }
  [[nodiscard]] std::optional<Tape>& operator[](slot_index slot) noexcept { return tapes_.get()[slot]; }
  [[nodiscard]] wide bytes() const noexcept { return wide(size_) * sizeof(std::optional<Tape>); }  ///< of the places
  void clear() noexcept {
    for (std::size_t k = 0; k < size_; ++k) tapes_.get()[k].reset();
  }

 private:
  /// Frees the old memory first: two tables at once would exceed what a plan has counted.
  void end() noexcept {
    for (; size_ > 0; --size_) tapes_.get()[size_ - 1].~optional();
    tapes_ = {};
  }

  raw_array<std::optional<Tape>> tapes_;
  std::size_t size_ = 0;
  static_assert(sizeof(tapes_) + sizeof(size_) == bytes_of_tape_slots);
};

/// The turn of a loop whose adjoint is not known yet.
template <class Step>
struct turn_only : no_hooks {
  explicit turn_only(Step& to_run) noexcept : step{to_run} {}
  Step& step;
  static constexpr bool limited = true;  // by the budget of a run that is kept, if it has one

  template <class States>
  std::uint64_t turn(States& states, action const& a, step_index& failed) {
    states.turn(step, a.from, a.to, failed);
    return std::uint64_t(a.to - a.from);
  }
  void drop_all_tapes() noexcept {}
  [[nodiscard]] static constexpr bool keeps_tapes() noexcept { return false; }
  [[nodiscard]] static constexpr wide tape_bytes() noexcept { return 0; }
  [[nodiscard]] static constexpr bool pauses() noexcept { return true; }
};

/// The turn and the reverse sweep with one adjoint. The seed fills `bar` between the two.
/// \tparam MakesTurn  the recording adjoint runs the last step itself and so makes the final state
/// \tparam Limited  there may be a budget, which adjoints, tapes and terms that grow have to keep
template <class State, class Step, class Adjoint, class Bar, bool MakesTurn, bool Limited = false>
class reversal {
  static constexpr auto shape = shape_of_adjoint<Adjoint, State, Bar>();
  static constexpr bool records = shape.form == adjoint_form::recorded;
  static constexpr bool records_turn = records && MakesTurn;
  static constexpr bool tells_ends = shape.form == adjoint_form::one_step && takes_end_hash<Adjoint>;
  static constexpr bool needs_ends =
      tells_ends || shape.form == adjoint_form::with_next;  // a resumed sweep runs to x1 again
  using tape = typename tape_of<Adjoint, State, records>::type;
  using back_type = typename way_back<Adjoint, State, Bar>::type;
  /// The adjoint promises to leave the object where it is.
  static constexpr bool reads_object = saved_state<State> && !moves_object<Adjoint, State, Bar>();

 public:
  static constexpr bool can_restart = restarts<Adjoint, State, tape>, limited = Limited;
  static constexpr wide adjoints = shape.by_value ? 2 : 1;  ///< at once

  /// \param memory  memory of tapes that is kept for the next sweep   \param tapes  tape slots of the plan
  reversal(Step& step, Adjoint& adjoint, cached_object& memory, slot_index tapes)
      : step_{step}, adjoint_{way_back<Adjoint, State, Bar>::of(adjoint)} {
    if constexpr (records) {
      if (tapes == 0) return;
      tapes_ = &memory.get<tape_slots<tape>>();
      tapes_->begin(entries_for(tapes));
    }
  }
  reversal(reversal const&) = delete;
  ~reversal() { drop_all_tapes(); }

  maybe<Bar> bar;
  /// The most that adjoint, tapes and terms have held, and dp.   \param held  tapes as they were told
  void note_held(sweep_parts& held) const {
    if constexpr (says_leaf_held<Adjoint>) held.tapes = wide(function_in(adjoint_).leaf_held());
    else if constexpr (records && !sized_state<tape>) held.tapes = unknown_bytes;
    else if constexpr (shape.form != adjoint_form::leaf)
      held.tapes = most_tapes_ + (tapes_ != nullptr ? tapes_->bytes() : 0);
    if constexpr (function_tells) held.terms = function_in(adjoint_).terms_held(held.tapes);
    else if constexpr (reverse_tells) held.terms = adjoint_.reverse.terms_held(held.tapes);
    else held.terms = 0;
    if constexpr (barless<Bar>) held.adjoints = 0;
    else if constexpr (sized_state<Bar>) held.adjoints = bytes_of(*bar) * adjoints;
    if constexpr (!no_p<gradient_type>) {
      held.gradient = unknown_bytes;
      if constexpr (sized_state<gradient_type>) held.gradient = bytes_of(gradient());
    }
  }
  /// Tells a budget what is held. Returns whether that is more than it knew.
  template <class Limits>
  bool tell(Limits& limits) const {
    sweep_parts now{.tapes = limits.limit_now().tapes};
    note_held(now);
    bool larger = limits.takes(&byte_limit::adjoints, now.adjoints);
    larger |= limits.takes(&byte_limit::terms, now.terms);
    larger |= limits.takes(&byte_limit::gradient, now.gradient);
    if constexpr (says_leaf_held<Adjoint>) larger |= limits.takes(&byte_limit::tapes, now.tapes);
    return larger;
  }
  [[nodiscard]] bool keeps_tapes() const noexcept { return tapes_ != nullptr; }
  /// What one tape takes beside the places of all.
  [[nodiscard]] wide tape_bytes() const noexcept { return most_tape_ + (tapes_ != nullptr ? tapes_->bytes() : 0); }

  template <class States>
  std::uint64_t turn(States& states, action const& a, step_index& failed) {
    if constexpr (records_turn) {
      if (a.to - a.from == 1) {
        failed = a.from;
        states.turn_by(a.to, [&](State& x) { fill(states, last_tape_, x, a.from); });
        return 1;
      }
    }
    states.turn(step_, a.from, a.to, failed);
    if constexpr (needs_ends && requires { states.final_is_end(a.to); }) states.final_is_end(a.to);
    return std::uint64_t(a.to - a.from);
  }

  template <class States>
  std::uint64_t record(States& states, action const& a) {
    if constexpr (records) {
      states.change_live(a.to, [&](State& x) { fill(states, (*tapes_)[a.slot], x, a.from); }, a.slot);
    }
    return std::uint64_t(a.to - a.from);
  }
  /// Live becomes the state at the end of a tape.
  template <class States>
  void restart(States& states, action const& a) {
    if constexpr (can_restart)
      states.load_made(
          a.from, [&]() -> decltype(auto) { return call_lending(adjoint_.restart, std::as_const(*(*tapes_)[a.slot])); },
          a.slot);
  }
  template <class States>
  void drop_tape(States&, slot_index slot) noexcept {
    if constexpr (records) (*tapes_)[slot].reset();
  }
  void drop_all_tapes() noexcept {
    if constexpr (records)
      if (tapes_ != nullptr) tapes_->clear();
    if constexpr (records_turn) last_tape_.reset();
    tapes_now_ = 0;
  }
  [[nodiscard]] static constexpr bool pauses() noexcept { return false; }

  /// The adjoint of steps [a.from, a.to); returns how many steps it ran again. A store that asks is told that it is done.
  template <class States>
  std::uint64_t reverse(States& states, action const& a) {
    if constexpr (requires { states.reversing(a.from); })
      if (!records || a.what != content::tape) states.reversing(a.from);
    std::uint64_t ran = 0;
    if constexpr (records) ran = reverse_tape(states, a);
    else {
      if constexpr (shape.form == adjoint_form::with_next)
        if (!states.has_next()) ran = states.make_next(step_, a.from, a.to);  // a resumed sweep does not have it
      auto& x = live_of(states);
      if constexpr (tells_ends && requires { states.end_behind_live(a.to); })
        adjoint_.ends_in(states.end_behind_live(a.to));
      if constexpr (requires { function_in(adjoint_).leaf_within(wide{}); }) {
        if constexpr (Limited) function_in(adjoint_).leaf_within(states.limits().limit_now().leaf_bytes());
        else function_in(adjoint_).leaf_within(unknown_bytes);
      }
      State const* x1 = nullptr;
      if constexpr (shape.form == adjoint_form::with_next) x1 = address_of(states.next());
      if constexpr (reads_object && requires { states.read_by(a.from, [] {}); })
        states.read_by(a.from, [&] { adjoint_.back(x, x1, *bar, a.from, a.to); });
      else adjoint_.back(x, x1, *bar, a.from, a.to);
      if constexpr (shape.form == adjoint_form::with_next) states.live_becomes_next();
      if constexpr (requires { function_in(adjoint_).take_ran(); })  // terms inside the leaf
        ran += std::uint64_t(function_in(adjoint_).take_ran());
    }
    if constexpr (requires { states.reversed(a.from, std::as_const(*bar)); })
      states.reversed(a.from, std::as_const(*bar));
    if constexpr (grows)
      if (auto& limits = states.limits(); limits.limited() && tell(limits)) check_sum(limits, ran, a.from);
    return ran;
  }

 private:
  /// dp, or what stands for it where there is none.
  [[nodiscard]] static auto const& gradient_in(std::remove_reference_t<back_type>& f) noexcept {
    if constexpr (requires { f.gradient_so_far(); }) return f.gradient_so_far();
    else if constexpr (requires { f.reverse.gradient_so_far(); }) return f.reverse.gradient_so_far();
    else return no_gradient;
  }
  [[nodiscard]] auto const& gradient() const noexcept { return gradient_in(adjoint_); }
  using gradient_type = std::remove_cvref_t<decltype(gradient_in(std::declval<std::remove_reference_t<back_type>&>()))>;
  // Who tells what terms have held.
  static constexpr bool function_tells = requires(Adjoint& f) { function_in(f).terms_held(wide{}); };
  static constexpr bool reverse_tells = requires(Adjoint& f) { f.reverse.terms_held(wide{}); };
  static constexpr bool grows =
      Limited && ((sized_state<Bar> && !is_flat<Bar>()) || says_leaf_held<Adjoint> || function_tells || reverse_tells ||
                  (sized_state<gradient_type> && !is_flat<gradient_type>()));
  /// \throws states_too_large
  template <class Limits>
  [[gnu::noinline, gnu::cold]] static void check_sum(Limits& limits, wide ran, step_index open = -1) {
    try {
      limits.check_sum();
    } catch (states_too_large& found) {
      if (open >= 0) found.open = open;
      found.ran = ran;
      throw;
    }
  }
  template <class States>
  std::uint64_t reverse_tape(States& states, action const& a) {
    if (a.what == content::tape) {
      apply((*tapes_)[a.slot], a.from);
      return 0;
    }
    if constexpr (records_turn) {
      if (last_tape_) {
        apply(last_tape_, a.from);
        last_tape_.reset();
        return 0;
      }
    }
    std::optional<tape> fresh;
    states.change_live(a.to, [&](State& x) { fill(states, fresh, x, a.from); }, no_slot);
    apply(fresh, a.from);
    return 1;
  }

  /// An object itself, which an adjoint may change, because the next action restores it. Other states are const.
  template <class States>
  [[nodiscard]] static auto& live_of(States& states) {
    if constexpr (saved_state<State>) return states.lend_live(moves_object<Adjoint, State, Bar>());
    else return states.live();
  }
  template <class States>
  void fill(States& states, std::optional<tape>& into, State& x, step_index i) {
    emplace_by(into,
               [&] { return taken_from([&]() -> decltype(auto) { return record_step(adjoint_.record, x, i); }); });
    if constexpr (sized_state<tape>) {
      wide const bytes = heap_of(*into);
      if (bytes > most_tape_) most_tape_ = bytes;
      if ((tapes_now_ += bytes) > most_tapes_) most_tapes_ = tapes_now_;
      if constexpr (Limited && !is_flat<tape>())
        if (auto& limits = states.limits();
            limits.limited() &&
            limits.takes(&byte_limit::tapes, tapes_now_ + (tapes_ != nullptr ? tapes_->bytes() : 0)))
          check_sum(limits, 1);
    }
  }
  void apply(std::optional<tape>& from, step_index i) {
    if constexpr (sized_state<tape>) tapes_now_ -= heap_of(*from);  // before the adjoint changes it
    pull_back_step<shape.reverse_indexed>(adjoint_.reverse, *bar, *from, i);
  }

  Step& step_;
  back_type adjoint_;
  tape_slots<tape>* tapes_ = nullptr;
  wide tapes_now_ = 0, most_tapes_ = 0, most_tape_ = 0;  // outside their places
  std::conditional_t<records_turn, std::optional<tape>, no_tape> last_tape_;
};

/// Refuses a combination that types cannot reveal: a plan that needs more of the adjoint than its form can do.
inline void check_adjoint_fits(char const* operation, step_index leaf, slot_index tapes, adjoint_form form,
                               bool restarts_wanted = false, bool restarts = false) {
  if (leaf > 1 && form != adjoint_form::leaf)
    throw invalid_plan{operation,
                       "the plan reverses several steps at once, but the adjoint takes one",
                       {{"leaf", leaf}},
                       "write adjoint(x, bar, first, last), or use a plan with leaf 1"};
  if (tapes > 0 && form != adjoint_form::recorded)
    throw invalid_plan{operation, "the plan keeps tapes, but the adjoint records none", {{"tapes", tapes}},
                       "use cairn::recorded{record, reverse}, or a plan without record actions"};
  if (tapes > 0 && restarts_wanted && !restarts)
    throw invalid_plan{
        operation,
        "the plan restarts from tapes, but the adjoint does not say how",
        {{"tapes", tapes}},
        "give cairn::recorded a third part, x1 = restart(tape), or use a plan whose tapes do not restart"};
}

}  // namespace cairn::detail
