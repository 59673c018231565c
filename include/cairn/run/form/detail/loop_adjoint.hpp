// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file loop_adjoint.hpp  The adjoint of a loop as a sweep calls it: steps [from, to), without p and dp. With an
/// objective it also adds the derivatives of the terms of the state where it arrives.
#include <optional>
#include <type_traits>
#include <utility>
#include <cairn/core/bytes_of.hpp>
#include <cairn/core/state_traits.hpp>
#include <cairn/door/detail/leaf_bytes.hpp>
#include <cairn/door/detail/lending.hpp>
#include <cairn/door/forms.hpp>
#include <cairn/door/wrt.hpp>
#include <cairn/rules/frames_needed.hpp>
#include <cairn/run/form/detail/bound_seed.hpp>
#include <cairn/run/form/detail/loop_step.hpp>
#include <cairn/run/form/detail/plans_inside.hpp>
#include <cairn/run/sweep/detail/end_hash.hpp>

namespace cairn::detail {

/// What an adjoint is called with beside states and bar.   \tparam Terms  `losses`, or `no_losses`
/// \tparam Step  the bound step, which makes states inside a leaf that have terms
template <class Params, class DP, class Terms = no_losses, class Step = no_losses>
struct loop_values {
  static constexpr bool has_terms = !std::is_same_v<Terms, no_losses>;
  Params const& p;
  DP& dp;
  Terms& terms;
  Step& step;
};

/// A state inside a leaf, where that is cut because of its terms.
template <class State>
struct state_in_leaf {
  step_index at;
  stored_as<State> state;
};
/// Reverses a leaf with terms at states inside it; verbs with an objective include parts_of_leaf.hpp.
template <class State, class Bar, wide Copies, class Adjoint>
void reverse_in_parts(Adjoint const& adjoint, lent_state<State> x, Bar& bar, step_index first, step_index last);

/// An adjoint that does not record. The operators are for what is made of functions and does not ask for `back`.
template <class Fn, class State, class Bar, class Params, class DP, class Terms, class Step>
struct loop_adjoint {
  static constexpr adjoint_shape given = adjoint_in_loop<Fn, State, Bar, Params, DP>();
  static constexpr adjoint_shape bound_shape = made_adjoint(given.form, given.wrong);
  static constexpr adjoint_form form = given.form;
  static constexpr bool moves_object = moves_in_loop<Fn, State, Bar, Params, DP>();
  using bar_type = Bar;
  using loop_type = loop_values<Params, DP, Terms, Step>;
  static constexpr bool walks = requires { typename Fn::walks; };  // its leaves pass each state, and add terms there
  Fn& adjoint;
  loop_type loop;

  /// An object comes back to state `from`, if that has terms.   \param x1  the state after step `from`, for
  /// adjoints that take it   \param held  bytes that terms hold beside
  void back(lent_state<State> x, State const* x1, Bar& bar, step_index const from, step_index const to,
            wide const held = 0) const {
    if constexpr (!loop_type::has_terms) call_back<State>(adjoint, x, x1, bar, loop.p, loop.dp, from, to);
    else if constexpr (walks) adjoint.template back<State>(x, x1, bar, loop.p, loop.dp, from, to, &loop.terms);
    else {
      if constexpr (form == adjoint_form::leaf)
        if (loop.terms.next_after(from) < to) return reverse_in_parts<State, Bar, copies>(*this, x, bar, from, to);
      if constexpr (moves_object) {
        if (loop.terms.any_at(from)) {
          auto const before = taken_snapshot(std::as_const(x));
          loop.terms.held(held + heap_if_known(before) + told_tape(to - from), 0);
          call_back<State>(adjoint, x, x1, bar, loop.p, loop.dp, from, to);
          restore_state(x, before);
          return loop.terms.pull(std::as_const(x), bar, from);
        }
      }
      if constexpr (tells_tape) loop.terms.held(held + told_tape(to - from), 0);
      call_back<State>(adjoint, x, x1, bar, loop.p, loop.dp, from, to);
      loop.terms.pull(std::as_const(x), bar, from);
    }
  }
  void operator()(lent_state<State> x, Bar& bar, step_index const i) const
    requires(form == adjoint_form::one_step)
  {
    back(x, nullptr, bar, i, i + 1);
  }
  void operator()(lent_state<State> x, Bar& bar, step_index const first, step_index const last) const
    requires(form == adjoint_form::leaf)
  {
    back(x, nullptr, bar, first, last);
  }
  void operator()(State const& x, State const& x1, Bar& bar, step_index const i) const
    requires(form == adjoint_form::with_next)
  {
    back(x, &x1, bar, i, i + 1);
  }
  template <class... Index>
    requires(barless<Bar> && sizeof...(Index) == (form == adjoint_form::leaf ? 2 : 1))
  void operator()(lent_state<State> x, Index const... index) const {
    Bar bar;
    (*this)(x, bar, index...);
  }
  void ends_in(end_hash end) const
    requires takes_end_hash<Fn>
  {
    referred_to(adjoint).ends_in(end);
  }
  template <class, class, class, class>
  void check_plans() const { check_plans_inside<State, Bar, Params, DP>(adjoint); }
  template <class Other>
  void meets(Other const* other) const
    requires requires { function_in(adjoint).meets(other); }
  {
    function_in(adjoint).meets(other);
  }

  using lent = std::conditional_t<copied_state<State>, State const, State>;
  static constexpr bool leaf_stays = weighing_of<Fn, lent>().memory_stays;
  [[nodiscard]] wide leaf_bytes(lent& x, step_index leaf, step_index steps) const
    requires(weighs_leaf_bytes<Fn, lent> || requires { function_in(adjoint).leaf_bytes(x, loop.p, leaf, steps); })
  {
    if constexpr (!requires { function_in(adjoint).leaf_bytes(x, loop.p, leaf, steps); })
      return leaf_bytes_of(adjoint, x, leaf, steps);
    else return function_in(adjoint).leaf_bytes(x, loop.p, leaf, steps);
  }
  [[nodiscard]] wide leaf_bytes(step_index steps) const
    requires tells_leaf_bytes<Fn>
  {
    return function_in(adjoint).leaf_bytes(steps);
  }
  [[nodiscard]] wide leaf_known(step_index steps) const {
    return detail::leaf_known(adjoint, steps);
  }
  void leaf_within(wide bytes) const
    requires requires { function_in(adjoint).leaf_within(bytes); }
  {
    function_in(adjoint).leaf_within(bytes);
  }
  [[nodiscard]] wide leaf_held() const
    requires says_leaf_held<Fn>
  {
    return function_in(adjoint).leaf_held();
  }
  [[nodiscard]] term_needs of_terms(wide heap, step_index steps, step_index leaf) const {
    if constexpr (!loop_type::has_terms || walks) return {0, 0, leaf};
    else {
      wide const back = moves_object && loop.terms.next_after(-1) < steps ? heap : 0;
      if constexpr (form != adjoint_form::leaf) return {back};
      else {
        wide const making = copied_state<State> ? copies * (heap + sizeof(State) + bytes_a_frame) : 0;
        auto const inside = loop.terms.inside(steps, leaf, {heap, sizeof(state_in_leaf<State>), making},
                                              [this](step_index part) { return told_tape(part); });
        if (inside.steps == 0) return {back, 0, leaf};
        wide const beside = copied_state<State> ? 0 : heap + back;
        return {inside.bytes - told_tape(inside.part) + beside, inside.steps, inside.part};
      }
    }
  }
  /// What terms have made a leaf hold beside the longest tape, which is as large as told.
  [[nodiscard]] wide terms_held(wide tape) const noexcept
    requires loop_type::has_terms
  {
    wide const most = loop.terms.most_held(), beside = tells_tape ? tape : 0;
    return most > beside ? most - beside : 0;
  }
  [[nodiscard]] DP const& gradient_so_far() const noexcept { return loop.dp; }
  /// Steps that ran once more inside leaves.
  [[nodiscard]] wide take_ran() const noexcept
    requires(loop_type::has_terms && form == adjoint_form::leaf)
  {
    return loop.terms.take_ran();
  }

 private:
  /// The adjoint is a leaf's and says how many bytes its call takes, so that these need not be the most at the same
  /// moment as the states for terms.
  static constexpr bool tells_tape = form == adjoint_form::leaf && tells_leaf_bytes<Fn>;
  [[nodiscard]] wide told_tape(step_index part) const {
    if constexpr (tells_tape) return leaf_bytes(part);
    else return 0;
  }
  static constexpr wide copies = [] {  // of an `advanced_copy`
    if constexpr (!loop_type::has_terms) return 0;
    else return Step::given.form == step_form::in_place ? 1 : 2;
  }();
};

/// A tape, and beside it the state at its begin if that has terms.
template <class Tape, class State>
struct tape_with_state {
  Tape tape;
  std::optional<stored_as<State>> state;
};
/// `tape = record(x, p[, i])`, called without p.
template <class Record, class State, class Params, class Terms = no_losses>
struct loop_record {
  static constexpr bool has_terms = !std::is_same_v<Terms, no_losses>;
  static constexpr bool indexed = [] {
    if constexpr (no_p<Params>) return calls<Record, State&, step_index>;
    else return !binds_record<Record, State, Params> && reads_one_with<Record, State, Params, step_index>;
  }();
  using own_tape = std::remove_cvref_t<decltype(call_step<State, indexed>(
      std::declval<Record&>(), std::declval<Params const&>(), 0, std::declval<State&>()))>;
  Record& record;
  Params const& p;
  Terms& terms;
  State** object;  // where the object of a loop over one is
  decltype(auto) operator()(State& x, step_index const i) const {
    if constexpr (!has_terms) return call_step<State, indexed>(record, p, i, x);
    else {
      terms.see(std::as_const(x), i);
      if constexpr (!copied_state<State>) *object = &x;
      std::optional<stored_as<State>> at;
      if (terms.any_at(i)) {
        if constexpr (copied_state<State>) at.emplace(copy_of(std::as_const(x)));
        else at.emplace(taken_snapshot(std::as_const(x)));
      }
      return tape_with_state<own_tape, State>{call_step<State, indexed>(record, p, i, x),
                                              std::move(at)};
    }
  }
  /// Bytes of a tape with a state, if any step has one.   \param heap  of a state
  [[nodiscard]] wide most_bytes(tape_with_state<own_tape, State> const& kept, wide heap) const
    requires has_terms
  {
    return wide(bytes_of(kept)) + (!kept.state && terms.any() ? heap : 0);
  }
};
/// `reverse(tape, bar, p, dp[, i])`, called without p and dp.
template <class Reverse, class Tape, class Bar, class Params, class DP, class State = void, class Terms = no_losses>
struct loop_reverse {
  static constexpr bool has_terms = !std::is_same_v<Terms, no_losses>;
  using kept = std::conditional_t<has_terms, tape_with_state<Tape, State>, Tape>;
  using before = std::conditional_t<barless<Bar>, arguments<Tape&>, arguments<Tape&, Bar&>>;
  Reverse& reverse;
  Params const& p;
  DP& dp;
  Terms& terms;
  State** object;
  void operator()(kept& tape, Bar& bar, step_index const i) const {
    if constexpr (!has_terms) replay(tape, bar, i);
    else {
      replay(tape.tape, bar, i);
      if (!tape.state) return;
      if constexpr (copied_state<State>) terms.pull(std::as_const(*tape.state), bar, i);
      else {
        auto const now = taken_snapshot(std::as_const(**object));
        terms.held(heap_if_known(now), 0);
        restore_state(**object, *tape.state);
        terms.pull(std::as_const(**object), bar, i);
        restore_state(**object, now);
      }
    }
  }
  void operator()(kept& tape, step_index const i) const
    requires barless<Bar>
  {
    Bar bar;
    (*this)(tape, bar, i);
  }
  [[nodiscard]] term_needs of_terms(wide heap, step_index steps, step_index) const
    requires has_terms
  {
    return {!copied_state<State> && terms.next_after(-1) < steps ? heap : 0};
  }
  [[nodiscard]] wide terms_held(wide) const noexcept
    requires has_terms
  {
    return terms.most_held();
  }
  [[nodiscard]] DP const& gradient_so_far() const noexcept { return dp; }

 private:
  void replay(Tape& tape, Bar& bar, step_index const i) const {
    if constexpr (no_p<Params>) {
      if constexpr (reads_index<Reverse, before>) pull_back(reverse, bar, tape, bar, i);
      else pull_back(reverse, bar, tape, bar);
    } else if constexpr (binds_reverse<Reverse, Tape, Bar, Params, DP>) {
      reverse.back(tape, bar, p, dp, i);
    } else if constexpr (reads_index<Reverse, before, Params const&, DP&>) pull_back(reverse, bar, tape, bar, p, dp, i);
    else pull_back(reverse, bar, tape, bar, p, dp);
  }
};
template <class Fn>
concept says_restart = requires(Fn& f) { sizeof(f.restart); };
/// How an adjoint restarts, with p if the part of `adaptive` that knows it takes p.
template <class Fn, class State, class Params, class Kept>
struct loop_restart {
  Fn& adjoint;
  Params const& p;
  using called = std::remove_reference_t<decltype((std::declval<Fn&>().restart))>;
  decltype(auto) operator()(Kept const& kept) const {
    auto const& tape = [&]() -> auto const& {
      if constexpr (requires { kept.tape; kept.state; }) return kept.tape;
      else return kept;
    }();
    if constexpr (!no_p<Params> && binds_record<called, State, Params>)
      return adjoint.restart.template run<State>(p, tape);
    else return adjoint.restart(tape);
  }
};
/// The adjoint with p and dp, and the terms of an objective, for bars of type Bar. Refers to all of them.
/// \param object  a place for the address of an object; used by recording adjoints with terms only
template <class State, class Bar, class Fn, class Params, class DP, class Terms, class Step>
[[nodiscard]] auto bind_adjoint(Fn& adjoint, Params const& p, DP& dp, Terms& terms, Step& step,
                                State** object) {
  if constexpr (adjoint_in_loop<Fn, State, Bar, Params, DP>().form != adjoint_form::recorded)
    return loop_adjoint<Fn, State, Bar, Params, DP, Terms, Step>{adjoint, {p, dp, terms, step}};
  else {
    using record_type = loop_record<record_of<Fn>, State, Params, Terms>;
    using reverse_type =
        loop_reverse<reverse_of<Fn>, typename record_type::own_tape, Bar, Params, DP, State, Terms>;
    record_type record{adjoint.record, p, terms, object};
    reverse_type reverse{adjoint.reverse, p, dp, terms, object};
    if constexpr (says_restart<Fn>)
      return recorded{std::move(record), std::move(reverse),
                      loop_restart<Fn, State, Params, typename reverse_type::kept>{adjoint, p}};
    else return recorded{std::move(record), std::move(reverse)};
  }
}
template <class State, class Bar, class Fn, class Params, class DP>
[[nodiscard]] auto bind_adjoint(Fn& adjoint, Params const& p, DP& dp) {
  return bind_adjoint<State, Bar>(adjoint, p, dp, nothing_seen, nothing_seen, static_cast<State**>(nullptr));
}

/// The forms of a loop's functions, for its plan.   \tparam Step  bound
template <class Step, class Adjoint, class State, class Bar, class Params, class DP>
consteval sweep_form form_of() {
  constexpr auto back = adjoint_in_loop<Adjoint, State, Bar, Params, DP>();
  return {.step = Step::given.form, .adjoint = back.form, .adjoint_by_value = back.by_value};
}

}  // namespace cairn::detail
