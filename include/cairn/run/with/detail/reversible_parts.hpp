// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file reversible_parts.hpp  The step of a loop that can run backwards, what it keeps, and its adjoint, which takes a
/// whole segment.
#include <limits>
#include <optional>
#include <type_traits>
#include <utility>
#include <cairn/core/bytes_of.hpp>
#include <cairn/core/detail/compiler.hpp>
#include <cairn/core/detail/kept_as.hpp>
#include <cairn/core/detail/state_hash.hpp>
#include <cairn/core/state_traits.hpp>
#include <cairn/door/detail/callable.hpp>
#include <cairn/door/detail/lending.hpp>
#include <cairn/door/detail/user_function.hpp>
#include <cairn/door/forms.hpp>
#include <cairn/run/form/detail/loop_adjoint.hpp>
#include <cairn/run/form/detail/plans_inside.hpp>
#include <cairn/run/sweep/detail/cached_object.hpp>
#include <cairn/run/sweep/detail/kept_snapshot.hpp>
#include <cairn/run/with/detail/adjoint_over.hpp>
#include <cairn/run/with/detail/drift.hpp>
#include <cairn/run/with/detail/jump_kinds.hpp>
#include <cairn/run/with/detail/kept_parts.hpp>
#include <cairn/run/with/detail/recalled.hpp>
#include <cairn/run/with/reversal_report.hpp>

namespace cairn {

/// In the place of `keep` where the inverse of a step needs nothing but the state after it.
struct keep_nothing_t {};
inline constexpr keep_nothing_t keep_nothing{};  ///< the one object of that type

namespace detail {

/// How a function of a step is called in a loop with these parameters: f(before...[, p][, i]).
template <class Fn, class Params, class... Before>
struct step_call {
  static constexpr bool takes_p = [] {
    if constexpr (no_p<Params>) return false;
    else return at_step_with<Fn, arguments<Before...>, Params const&>::fits;
  }();
  static constexpr bool indexed = [] {
    if constexpr (takes_p) return at_step_with<Fn, arguments<Before...>, Params const&>::indexed;
    else return calls<Fn, Before..., step_index const&> && !floating_index<Fn, Before...>;
  }();
  static constexpr bool fits = takes_p || indexed || calls<Fn, Before...>;
  static decltype(auto) call(Fn& f, [[maybe_unused]] Params const& p, [[maybe_unused]] step_index const i,
                             Before... before) {
    if constexpr (takes_p && indexed) return call_lending(f, static_cast<Before>(before)..., p, i);
    else if constexpr (takes_p) return call_lending(f, static_cast<Before>(before)..., p);
    else if constexpr (indexed) return call_lending(f, static_cast<Before>(before)..., i);
    else return call_lending(f, static_cast<Before>(before)...);
  }
  /// \tparam Arg  what the function does with `before`
  template <class... Arg>
  static consteval fault wrong() {
    constexpr call_with<Arg...> before;
    if constexpr (takes_p && indexed)
      return fault_of_call<Fn>(before + call_with<reads_params<Params>, numbers_step>{});
    else if constexpr (takes_p) return fault_of_call<Fn>(before + call_with<reads_params<Params>>{});
    else if constexpr (indexed) return fault_of_call<Fn>(before + call_with<numbers_step>{});
    else return fault_of_call<Fn>(before);
  }
};
/// What `keep` returns.
template <class Keep, class State, class Params>
struct kept_type {
  static constexpr bool fits = step_call<Keep, Params, State const&>::fits;
  template <bool Fits> static auto result() {
    if constexpr (!Fits) return std::type_identity<no_kept_part>{};
    else
      return std::type_identity<
          std::remove_cvref_t<decltype(step_call<Keep, Params, State const&>::call(
              std::declval<Keep&>(), std::declval<Params const&>(), 0, std::declval<State const&>()))>>{};
  }
  using type = typename decltype(result<fits>())::type;
};
template <class State, class Params>
struct kept_type<keep_nothing_t, State, Params> { using type = no_kept_part; };
template <class State, class Params>
struct kept_type<keep_nothing_t const, State, Params> { using type = no_kept_part; };

/// A step, what is kept of it, and its inverse.
template <class Step, class Keep, class Back>
struct reversible_functions {
  using step_function = std::remove_reference_t<Step>;
  using keep_function = std::remove_reference_t<Keep>;
  using back_function = std::remove_reference_t<Back>;
  static constexpr bool keeps = !std::is_same_v<std::remove_cv_t<keep_function>, keep_nothing_t>;
  kept_callable<Step> step;
  kept_callable<Keep> keep;
  kept_callable<Back> back;
  reversible_options options;

  template <class State, class Params>
  using kept = typename kept_type<keep_function, State, Params>::type;
  template <class State, class Params>
  using memory = kept_parts<State, kept<State, Params>>;
  template <class State, class Params>
  using back_call = std::conditional_t<keeps, step_call<back_function, Params, State&, kept<State, Params> const&>,
                                       step_call<back_function, Params, State&>>;

  /// One function: each function called adds lines to the compiler's message.
  template <class State, class Params>
  static consteval bool check() {
    using kept_part = kept<State, Params>;
    constexpr bool tells = numbered<stored_as<State>> || hashable<stored_as<State>>;
    static_assert(tells,
                  "cairn: a state that is made backwards is compared with the one that is held, but neither the numbers "
                  "nor the bytes of this state are known; give it a member visit_numbers(f) or specialise "
                  "cairn::state_traits");
    constexpr bool taken = [] {
      if constexpr (!keeps) return true;
      else if constexpr (!step_call<keep_function, Params, State const&>::fits) return false;
      else return step_call<keep_function, Params, State const&>::template wrong<reads<State>>() == fault::none;
    }();
    static_assert(taken,
                  "cairn: the keep of cairn::reversible is `kept = keep(x, p, i)`, with x const&, p const& and "
                  "`cairn::step_index i`; p and i may be left out");
    constexpr bool owns = !keeps || !taken ||
                          (!std::is_void_v<kept_part> && standalone<kept_part> && std::movable<kept_part>);
    static_assert(owns,
                  "cairn: what keep returns is held until its step runs backwards, so it is a value that owns its data "
                  "and can be moved, and no view, pointer or expression of the state; cairn::keep_nothing keeps nothing");
    if constexpr (!tells || !taken || !owns) return false;
    else {
      using call = back_call<State, Params>;
      constexpr bool fits = call::fits;
      constexpr fault wrong = [] {
        if constexpr (!fits) return fault::none;
        else if constexpr (keeps) return call::template wrong<changes<State>, reads<kept_part>>();
        else return call::template wrong<changes<State>>();
      }();
      constexpr bool back_fits = fits && wrong == fault::none;
      static_assert(back_fits,
                    "cairn: the back of cairn::reversible is `back(x, kept, p, i)`, or `back(x, p, i)` where nothing is "
                    "kept: it turns state i + 1 into state i, so x is a reference that is not const; kept is const&, i a "
                    "`cairn::step_index`, and p and i may be left out");
      return back_fits;
    }
  }
  template <class State, class Params>
  void keep_part(memory<State, Params>& into, State const& x, Params const& p, step_index const i) const {
    into.collect(i, x, [&]() -> decltype(auto) {
      if constexpr (keeps) return step_call<keep_function, Params, State const&>::call(*keep, p, i, x);
      else return no_kept_part{};
    });
  }
  template <class State, class Params>
  void go_back(memory<State, Params> const& from, State& x, Params const& p, step_index const i) const {
    if constexpr (keeps) back_call<State, Params>::call(*back, p, i, x, from.of(i));
    else back_call<State, Params>::call(*back, p, i, x);
  }
  /// Weighs what segments hold, by one part that is kept of x. States: the end of the segment, and beside it the one
  /// that a step out of place, or an adjoint with x1, takes; of an object the first one and the one that was made.
  /// \param next  the adjoint takes x1, or moves the object
  template <class State, class Params>
  void weigh(segment_weight& into, State const& x, Params const& p, step_index steps, bool next) const {
    using part = kept<State, Params>;
    into = {.own = sizeof(memory<State, Params>), .steps = steps, .one_too = next && copied_state<State>};
    if constexpr (sized_state<stored_as<State>>) {
      if constexpr (!keeps) into.part = 0;
      else if constexpr (sized_state<part>)
        into.part = bytes_of(step_call<keep_function, Params, State const&>::call(*keep, p, 0, x));
      constexpr bool two = step_in_loop<step_function, State, Params>().form == step_form::out_of_place;
      if constexpr (copied_state<State>) into.state = bytes_of(x), into.states = two || next ? 2 : 1;
      else into.state = bytes_of(save_state(x)), into.states = next ? 4 : 3;
    }
  }
  /// Bytes of a segment, once it has been weighed.
  [[nodiscard]] wide leaf_of(segment_weight const& weight, step_index leaf) const {
    return weight.of(leaf, options.keep_all && weight.steps > leaf ? weight.steps : leaf);
  }
  template <class Look>
  void each_function(Look const& look) const {
    look(*step), look(*keep), look(*back);
    look(options.drift.value_or(-1)), look(options.exact), look(options.keep_all);
  }
};

/// Memory of a step, or that of another one. A copy starts empty, with the same weight.
class segment_memory {
 public:
  segment_memory() = default;
  explicit segment_memory(segment_memory* lender) noexcept : lender_{lender} {}
  segment_memory(segment_memory const& other) noexcept : weight_{other.weight_} {}
  segment_memory& operator=(segment_memory const&) = delete;
  [[nodiscard]] cached_object& object() noexcept { return lender_ != nullptr ? lender_->object() : own_; }
  [[nodiscard]] segment_weight& weight() noexcept { return lender_ != nullptr ? lender_->weight() : weight_; }
  [[nodiscard]] bool is_lent() const noexcept { return lender_ != nullptr; }

 private:
  cached_object own_;
  segment_weight weight_;
  segment_memory* lender_ = nullptr;
};

/// The step. Keeps what its inverse needs of the steps that the first segment to be reversed has, or of all.
template <class Step, class Keep, class Back>
struct reversible_step {
  using functions = reversible_functions<Step, Keep, Back>;
  using inner_step = typename functions::step_function;
  functions of;
  explicit reversible_step(functions const& given) : of{given} {}
  /// A copy runs a loop of its own, such as one that is kept, and has memory of its own.
  reversible_step(reversible_step const& other) : of{other.of}, memory{other.memory} {}
  reversible_step& operator=(reversible_step const&) = delete;
  mutable segment_memory memory;
  using asked_first = functions;

  template <class State, class Params>
  static consteval step_shape step_with() {
    constexpr auto read = step_in_loop<inner_step, State, Params>();
    if constexpr (read.wrong != fault::none) return read;
    else if constexpr (!functions::template check<State, Params>()) return no_step(fault::part);
    else
      return {read.form == step_form::out_of_place ? read.form : step_form::in_place, true, read.stops, fault::none};
  }
  template <class State, class Params>
  auto run(Params const& p, step_index const i, State& x) const
      -> std::conditional_t<step_in_loop<inner_step, State, Params>().stops, bool, void> {
    if (i < from_) return move_on(*of.step, x, p, i);
    auto& held = begun<State, Params>();
    of.template keep_part<State>(held, std::as_const(x), p, i);
    if constexpr (step_in_loop<inner_step, State, Params>().stops) {
      bool const more = move_on(*of.step, x, p, i);
      if (i + 1 == steps_) held.end_is(std::as_const(x), steps_);
      return more;
    } else {
      move_on(*of.step, x, p, i);
      if (i + 1 == steps_) held.end_is(std::as_const(x), steps_);
    }
  }
  template <class State, class Params>
  void run(Params const& p, step_index const i, State const& x, State& x1) const {
    if (i < from_) return move_to(*of.step, x, x1, p, i);
    auto& held = begun<State, Params>();
    of.template keep_part<State>(held, x, p, i);
    move_to(*of.step, x, x1, p, i);
    if (i + 1 == steps_) held.end_is(std::as_const(x1), steps_);
  }
  template <class State>
    requires(shape_of_step<inner_step, State>().form == step_form::in_place ||
             shape_of_step<inner_step, State>().form == step_form::by_value)
  auto operator()(State& x, step_index i) const {
    if constexpr (functions::template check<State, no_params>()) return run<State>(no_parameters, i, x);
  }
  template <class State>
    requires(shape_of_step<inner_step, State>().form == step_form::out_of_place)
  void operator()(State const& x, State& x1, step_index i) const {
    if constexpr (functions::template check<State, no_params>()) run<State>(no_parameters, i, x, x1);
  }
  /// Called by executors, once before each loop.
  void begin(loop_begins loop) const {
    steps_ = loop.steps;
    from_ = steps_ < 0 || loop.leaf < 2 ? nowhere : of.options.keep_all ? 0 : steps_ - loop.leaf;
    if (from_ < 0) from_ = 0;
    fresh_ = true;
    memory.weight().room = loop.leaf_bytes;
    begin_loop(*of.step, loop);
  }
  /// Of a loop that is kept, whose adjoint comes later: what a segment holds.
  template <class State, class Params>
  [[nodiscard]] wide leaf_bytes(State& x, Params const& p, step_index leaf, step_index steps) const {
    of.template weigh<std::remove_const_t<State>>(memory.weight(), std::as_const(x), p, steps, true);
    return leaf_known(leaf);
  }
  [[nodiscard]] wide leaf_known(step_index leaf) const { return of.leaf_of(memory.weight(), leaf); }
  template <class Look>
  void each_function(Look const& look) const { look(of); }

 private:
  static constexpr step_index nowhere = (std::numeric_limits<step_index>::max)();
  template <class State, class Params>
  [[nodiscard]] auto& begun() const {
    auto& held = memory.object().get<typename functions::template memory<State, Params>>();
    if (std::exchange(fresh_, false)) held.begin(from_, steps_ - from_, memory.weight());
    return held;
  }
  mutable bool fresh_ = false;
  mutable step_index steps_ = -1, from_ = nowhere;  // of the loop; the first step of which something is kept
};

/// Its adjoint: a segment goes backwards from its last state, each step after its inverse. That of one step is the inner
/// adjoint.
template <class Step, class Keep, class Back, class Adjoint>
struct reversible_adjoint : adjoint_over<reversible_adjoint<Step, Keep, Back, Adjoint>> {
  using functions = reversible_functions<Step, Keep, Back>;
  using inner_step = typename functions::step_function;
  using inner_back = std::remove_reference_t<Adjoint>;
  using walks = void;  ///< adds the terms of the states inside a segment
  static constexpr bool moves_object = false;
  functions of;
  kept_callable<Adjoint> adjoint;
  mutable segment_memory memory;
  /// \param lender  the step's memory, if the adjoint sees it
  template <class Given>
  reversible_adjoint(functions const& given, Given&& f, segment_memory* lender)
      : of{given}, adjoint{std::forward<Given>(f)}, memory{lender} {}

  template <class State, class Bar>
  static consteval adjoint_shape shape_on() { return segment_of(shape_of_adjoint<inner_back, State, Bar>()); }
  template <class State, class Bar, class Params, class DP>
  static consteval adjoint_shape adjoint_with() {
    return segment_of(shape_of_adjoint_with<inner_back, State, Bar, Params, DP>());
  }
  /// Called before each sweep, and before each reverse of a run that is kept: what is held may be another loop's.
  template <class State, class Bar, class Params, class DP>
  void check_plans() const {
    if constexpr (functions::template check<State, Params>()) {
      held_in<State, Params>().forget();
      if (of.options.report != nullptr) *of.options.report = {};
      if (of.options.exact && !hashable<stored_as<State>>)
        throw invalid_call{"cairn::reversible",
                           "the bytes of this state are not known, so an exact inverse cannot be checked",
                           {},
                           "leave reversible_options::exact out, or give the state a member visit_buffers(f)"};
    }
    check_plans_inside<State, Bar, Params, DP>(*adjoint);
  }
  template <class State, class Input, class Bar, class Params, class DP, class Terms = no_losses>
  void back(Input& x, State const*, Bar& bar, Params const& p, DP& dp, step_index const from, step_index const to,
            Terms* terms = nullptr) const {
    if constexpr (functions::template check<State, Params>()) {
      if (to - from == 1 && !with_next<State, Bar, Params, DP>) pull(x, nullptr, bar, p, dp, from, terms);
      else back_over(x, bar, p, dp, from, to, terms);
    }
  }
  /// What a segment holds: kept parts, and states. Keeps one part of x for that.
  template <class State, class Params>
    requires(step_call<typename functions::keep_function, Params, std::remove_const_t<State> const&>::fits ||
             !functions::keeps)
  [[nodiscard]] wide leaf_bytes(State& x, Params const& p, step_index leaf, step_index steps) const {
    using state = std::remove_const_t<State>;
    using bar = stored_as<state>;  // with another one, or another dp, a state more is counted
    constexpr auto shape = adjoint_in_loop<inner_back, state, bar, Params, Params>();
    constexpr bool stays = shape.form != adjoint_form::none && shape.form != adjoint_form::with_next &&
                           (copied_state<state> || !moves_in_loop<inner_back, state, bar, Params, Params>());
    of.template weigh<state>(memory.weight(), std::as_const(x), p, steps, !stays);
    return leaf_known(leaf);
  }
  template <class State>
    requires(kept_type<typename functions::keep_function, std::remove_const_t<State>, no_params>::fits)
  [[nodiscard]] wide leaf_bytes(State& x, step_index leaf, step_index steps) const {
    return leaf_bytes(x, no_parameters, leaf, steps);
  }
  /// The same, once it has been weighed. Memory that is not the step's comes beside that of the step.
  [[nodiscard]] wide leaf_known(step_index leaf) const {
    wide const one = of.leaf_of(memory.weight(), leaf);
    return memory.is_lent() || one == unknown_bytes ? one : 2 * one;
  }
  /// Called before each reversal: what the sweep leaves for a segment.
  void leaf_within(wide bytes) const {
    bool const shared = of_run_ != nullptr || memory.is_lent();
    weight().room = shared || bytes == unknown_bytes ? bytes : bytes / 2;
  }
  /// The step of a run that is kept has memory of its own; null: of the model.
  void meets(reversible_step<Step, Keep, Back> const* other) const {
    of_run_ = other != nullptr ? &other->memory : nullptr;
  }
  template <class Look>
  void each_function(Look const& look) const { look(of), look(*adjoint); }

 private:
  /// Whether an adjoint can be called for one step after the other.
  static consteval adjoint_shape segment_of(adjoint_shape const inner) {
    if (inner.form == adjoint_form::none) return inner;
    return inner.form == adjoint_form::recorded ? no_adjoint(fault::tape) : made_adjoint(adjoint_form::leaf);
  }
  template <class State, class Bar, class Params, class DP>
  static constexpr bool with_next =
      adjoint_in_loop<inner_back, State, Bar, Params, DP>().form == adjoint_form::with_next;
  [[nodiscard]] segment_memory& memory_now() const { return of_run_ != nullptr ? *of_run_ : memory; }
  [[nodiscard]] segment_weight& weight() const { return memory_now().weight(); }
  template <class State, class Params>
  [[nodiscard]] auto& held_in() const {
    return memory_now().object().template get<typename functions::template memory<State, Params>>();
  }

  /// The adjoint of step i, x being state i, and the terms of that state.
  template <class State, class Bar, class Params, class DP, class Terms>
  void pull(State& x, std::remove_const_t<State> const* x1, Bar& bar, Params const& p, DP& dp, step_index const i,
            [[maybe_unused]] Terms* terms) const {
    call_back<std::remove_const_t<State>>(*adjoint, x, x1, bar, p, dp, i, i + 1);
    pull_terms(x, bar, i, terms);
  }
  template <class State, class Bar, class Terms>
  static void pull_terms(State const& x, Bar& bar, step_index const i, Terms* terms) {
    if constexpr (!std::is_same_v<Terms, no_losses>)
      if (terms != nullptr) terms->pull(x, bar, i);
  }
  /// A copy of the state goes to the end of the segment and back; an object goes itself, and is then put where it was.
  template <class Input, class Bar, class Params, class DP, class Terms>
  void back_over(Input& x, Bar& bar, Params const& p, DP& dp, step_index const from, step_index const to,
                 Terms* terms) const {
    using State = std::remove_const_t<Input>;
    constexpr bool copies = copied_state<State>, two = copies && with_next<State, Bar, Params, DP>;
    auto& held = held_in<State, Params>();
    [[maybe_unused]] auto const first = first_of(x);
    auto const live = [&]() -> State& {
      if constexpr (copies) return *held.end();
      else return x;
    };
    auto const now = [&]() -> decltype(auto) {  // what is held of it
      if constexpr (copies) return std::as_const(live());
      else return save_state(std::as_const(x));
    };
    std::optional<stored_as<State>> made;  // where a budget has no room for all parts: a state before it is made again
    number_size largest;
    for (step_index end = to, last = to, begin = to; end > from; last = end, end = begin) {
      step_index again = 0;
      if (!held.has_end(from, end) || !held.ends_at(end)) {
        if (!held.has_end(from, end)) held.begin(from, end - from, weight(), made.has_value());
        if constexpr (copies) held.end_is(x, from);
        else if (end < to) restore_state(x, first);
        for (step_index i = from; i < end; ++i) {
          of.template keep_part<State>(held, std::as_const(live()), p, i);
          advance(held, live(), p, i);
        }
        again = end - from;
      } else if constexpr (!copies) restore_state(x, *held.end());
      held.end_is_gone();
      if (made) {
        compare(*made, now(), largest, end, last);
        made.reset();
        largest = {};
      }
      note_size(largest, now());
      begin = from < held.first() ? held.first() : from;
      report(held, begin, end, again);
      for (step_index i = end; i-- > begin;) {
        State const* x1 = nullptr;
        if constexpr (two) {
          keep_in(held.next(), std::as_const(live()));
          x1 = address_of(*held.next());
        }
        of.template go_back<State>(held, live(), p, i);
        if (is_sample(i, from, to)) note_size(largest, now());
        if (i == begin && begin > from) keep_in(made, std::as_const(live()));
        if constexpr (copies) {
          if (i == from) compare(live(), x, largest, from, last);
          pull(i > from ? std::as_const(live()) : x, x1, bar, p, dp, i, terms);
        } else {
          if (i == from) {
            auto back_at_first = taken_snapshot(std::as_const(x));
            compare(back_at_first, first, largest, from, last);
            restore_state(x, first);
          }
          constexpr bool moves = moves_in_loop<inner_back, State, Bar, Params, DP>();
          if constexpr (moves) keep_in(held.next(), std::as_const(x));
          call_back<State>(*adjoint, x, nullptr, bar, p, dp, i, i + 1);
          if constexpr (moves) restore_state(x, *held.next());
          pull_terms(std::as_const(x), bar, i, terms);
        }
      }
    }
    if (held.has(from - 1, from)) held.end_is(std::as_const(x), from);  // of the segment before, whose parts are held
  }
  /// A snapshot of an object; nothing of a state that stays where it is.
  template <class State>
  [[nodiscard]] static auto first_of([[maybe_unused]] State const& x) {
    if constexpr (copied_state<State>) return no_kept_part{};
    else return taken_snapshot(x);
  }
  /// Runs step i on the state at the end.
  template <class Held, class State, class Params>
  void advance([[maybe_unused]] Held& held, State& now, Params const& p, step_index const i) const {
    if constexpr (step_in_loop<inner_step, State, Params>().form == step_form::out_of_place) {
      keep_in(held.next(), std::as_const(now));  // a state of the same shape; what it holds is not read
      move_to(*of.step, std::as_const(now), *held.next(), p, i);
      using std::swap;
      swap(held.end(), held.next());
    } else move_on(*of.step, now, p, i);
  }
  /// A state of a segment by whose numbers its drift is measured: some eight of them, as a pass over a state takes time.
  [[nodiscard]] static constexpr bool is_sample(step_index i, step_index from, step_index to) noexcept {
    step_index const eighth = (to - from) / 8;
    return i > from && (i - from) % (eighth < 16 ? 16 : eighth) == 0;
  }
  template <class Stored>
  static void note_size([[maybe_unused]] number_size& largest, [[maybe_unused]] Stored const& x) {
    if constexpr (numbered<Stored>) {
      auto const now = size_of_numbers(x);
      if (now.largest > largest.largest) largest.largest = now.largest;
      if (now.unit > largest.unit) largest.unit = now.unit;
    }
  }
  /// \param again  steps that have run again
  template <class Held>
  void report(Held const& held, step_index const from, step_index const to, step_index again) const {
    if (of.options.report == nullptr) return;
    auto& report = *of.options.report;
    ++report.segments;
    report.steps_back += wide(to - from);
    report.steps_again += wide(again);
    if (held.count() > report.most_kept) report.most_kept = held.count();
    if (held.bytes() > report.kept_bytes) report.kept_bytes = held.bytes();
  }
  /// Compares what was made of state `from` with what is held of it. Afterwards both have the same numbers.
  /// \param size  of the states from which it was made   \throws reversal_error
  template <class Stored>
  void compare(Stored& made, Stored const& kept, number_size size, step_index const from, step_index const to) const {
    double drift = 0;
    most_different most;
    bool same = true;
    if constexpr (hashable<Stored>)
      if (of.options.exact) same = hash_of(std::as_const(made)) == hash_of(kept);
    note_size(size, kept);
    if constexpr (numbered<Stored>) {
      drift_meter meter;
      most = meter.replace(made, kept);
      drift = most.over(size.largest);
      if constexpr (hashable<Stored> && every_part<gives_all_numbers, Stored>())
        if (same && drift < infinite_drift) same = hash_of(std::as_const(made)) == hash_of(kept);
    } else same = hash_of(std::as_const(made)) == hash_of(kept);
    if (auto* const report = of.options.report; report != nullptr && drift > report->drift)
      report->drift = drift, report->drift_at = from, report->drift_number = most.number;
    double const allowed = of.options.drift ? *of.options.drift : square_root(size.unit);
    if (drift > allowed)
      refuse_reversal("a state that was made backwards drifts from the one that is held", drift, allowed, from, to,
                      most.number,
                      "keep what the step loses, or put checkpoints closer; cairn::check_reversible says where it "
                      "comes from");
    if (!same)
      refuse_reversal(of.options.exact ? "a state that was made backwards has not the bits of the one that is held"
                                       : "a state that was made backwards differs in what is not a floating-point number",
                      infinite_drift, allowed, from, to, most.number,
                      "let back restore every member and every bit that the step changes");
  }
  mutable segment_memory* of_run_ = nullptr;
};

}  // namespace detail
}  // namespace cairn
