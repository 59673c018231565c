// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file adaptive.hpp  Steps that choose their own size: the choice of every step is recorded, and repeated in replays
/// and adjoints.
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <utility>
#include <vector>
#include <cairn/core/action.hpp>
#include <cairn/core/bytes_of.hpp>
#include <cairn/core/detail/kept_as.hpp>
#include <cairn/core/error.hpp>
#include <cairn/core/state_traits.hpp>
#include <cairn/core/sweep_bytes.hpp>
#include <cairn/door/detail/callable.hpp>
#include <cairn/door/detail/lending.hpp>
#include <cairn/door/detail/step_shape.hpp>
#include <cairn/door/detail/user_function.hpp>
#include <cairn/door/forms.hpp>
#include <cairn/door/wrt.hpp>
#include <cairn/run/with/detail/recalled.hpp>

namespace cairn {
namespace detail {

struct no_record {};
/// The state that `first` works on, and the record it returns.
template <class State, class Record>
struct choice {
  using state = std::remove_cvref_t<State>;
  using record = std::conditional_t<std::is_void_v<Record>, no_record, std::remove_cvref_t<Record>>;
};
template <class Result, class Input, class... Index> choice<Input, Result> choice_of(Result (*)(Input, Index...));
template <class Result, class Class, class Input, class... Index>
choice<Input, Result> choice_of(Result (Class::*)(Input, Index...));
template <class Result, class Class, class Input, class... Index>
choice<Input, Result> choice_of(Result (Class::*)(Input, Index...) const);

template <class Fn> struct chosen_by { using type = choice<no_record, no_record>; };
template <class Fn>
  requires requires { choice_of(&Fn::operator()); }
struct chosen_by<Fn> { using type = decltype(choice_of(&Fn::operator())); };
template <class Fn>
  requires std::is_function_v<std::remove_pointer_t<Fn>>
struct chosen_by<Fn> { using type = decltype(choice_of(static_cast<Fn>(nullptr))); };

/// Calls f(x..., i), or f(x...) if f takes no index.
template <class Fn, class... Input>
concept calls_at_step = calls<Fn, Input..., step_index const&> || calls<Fn, Input...>;
template <class Fn, class... Input>
decltype(auto) call_at_step(Fn& f, step_index const i, Input&&... x) {
  if constexpr (calls<Fn, Input..., step_index const&>) return call_lending(f, std::forward<Input>(x)..., i);
  else return call_lending(f, std::forward<Input>(x)...);
}
}  // namespace detail

/// A step that is chosen once and then repeated: an integrator that tries step sizes until one is accepted, or an
/// iteration to a tolerance. The first run of step i calls `record = first(x[, i])`, which makes one accepted step on x
/// and returns its choice (a step size, an order, flags). Later runs call `again(x[, i], record)`, which repeats the
/// step without choosing.
/// If `first` takes x by const reference or by value, it only chooses, and `again` makes the step also the first time.
/// This runs each step once more, but then no two pieces of code can differ in bits. Otherwise both must give the same
/// bits: let both call one function for the arithmetic; `check_adjoint(loop.step(), ...)` compares them.
///
/// In a verb with `wrt` both take its p: `first(x, p[, i])`, `again(x, p[, i], record)`; adjoints of `with_record` take
/// p and dp, its `record` p, before the index.
///
/// Both must have one signature: `first` cannot have an `auto` parameter. One object serves one loop at a time, must
/// outlive the loop's run, and cannot be moved. Memory: one record per step, in an array that grows by doubling and is
/// kept for the next loop.
template <class First, class Again>
class adaptive {
  using State = typename detail::chosen_by<First>::type::state;
  using Record = typename detail::chosen_by<First>::type::record;
  static constexpr bool returns = !std::is_same_v<Record, detail::no_record>,
                        owns = !returns || detail::standalone<Record>;
  static_assert(owns,
                "cairn: the record that `first` returns is a pointer, a view or an expression of data that changes "
                "later; return one that owns its data, such as x.eval()");
  static constexpr bool chooses = returns && (!owns || std::movable<Record>);
  static_assert(chooses,
                "cairn: adaptive{first, again} needs `record = first(x, i)` that returns a value to keep, and whose "
                "parameters are types, not auto");
  /// Whether `first` is called without parameters of a loop; one that takes p is checked where p is known.
  static constexpr bool plain = [] {
    if constexpr (!chooses || !owns) return true;
    else return detail::calls_at_step<First, State&> && !detail::floating_index<First, State&>;
  }();
  static constexpr bool repeats = !chooses || !owns || !plain || detail::calls_with_record<Again, Record, State&>;
  static_assert(repeats,
                "cairn: adaptive{first, again} needs `again(x, i, record)`, which repeats the step that `first` "
                "recorded; i may be left out");

  /// What is wrong with what both take. `first` may take x by value, and then only chooses.
  template <class... Params>
  static consteval detail::fault wrong_with() {
    using namespace detail;
    constexpr auto head = call_with<reads_params<Params>...>{};
    constexpr call_with<numbers_step> index;
    constexpr auto of_first = [&] {
      constexpr call_with<may_change<State>> x;
      if constexpr (at_step_with<First, arguments<State&>, Params const&...>::indexed)
        return fault_of_call<First>(x + head + index);
      else return fault_of_call<First>(x + head);
    }();
    if constexpr (of_first != fault::none) return of_first;
    else {
      constexpr call_with<changes<State>> x;
      constexpr call_with<reads<Record>> made;
      if constexpr (recalled_with<Again, Record, arguments<State&>, Params const&...>::indexed)
        return fault_of_call<Again>(x + head + index + made);
      else return fault_of_call<Again>(x + head + made);
    }
  }
  static constexpr detail::fault wrong = [] {
    if constexpr (chooses && owns && plain && repeats) return wrong_with<>();
    else return detail::fault::none;
  }();
  static_assert(wrong != detail::fault::unchanged,
                "cairn: the `again` of cairn::adaptive makes the step, so it takes x by a reference that is not const");
  static_assert(wrong == detail::fault::none || wrong == detail::fault::unchanged,
                "cairn: `first` or `again` of cairn::adaptive takes a number of a narrower type than it is given, or its "
                "index as a short number, a bool or a default argument; take the number's own type, and "
                "`cairn::step_index i`");
  static constexpr bool sound = chooses && owns && repeats && wrong == detail::fault::none;

  /// How first and again take p.
  template <class Params>
  struct with_p {
    using chosen = detail::at_step_with<First, detail::arguments<State&>, Params const&>;
    using only_chosen = detail::at_step_with<First, detail::arguments<State const&>, Params const&>;
    using repeated = detail::recalled_with<Again, Record, detail::arguments<State&>, Params const&>;
    static constexpr bool only_chooses = only_chosen::fits;
    static constexpr bool fits = [] {
      if constexpr (chosen::fits && repeated::fits) return wrong_with<Params>() == detail::fault::none;
      else return false;
    }();
  };
  /// The functions, with the parameters that there are.
  template <class Params>
  struct functions {
    adaptive& owner;
    Params const& p;
    static constexpr bool only_chooses = [] {
      if constexpr (detail::no_p<Params>) return detail::calls_at_step<First, State const&>;
      else return with_p<Params>::only_chooses;
    }();
    template <class Input>
    decltype(auto) first(Input& x, step_index const i) const {
      if constexpr (detail::no_p<Params>) return detail::call_at_step(owner.first_, i, x);
      else if constexpr (with_p<Params>::chosen::indexed) return detail::call_lending(owner.first_, x, p, i);
      else return detail::call_lending(owner.first_, x, p);
    }
    void again(State& x, step_index const i, Record const& made) const {
      if constexpr (detail::no_p<Params>) detail::call_with_record<Again, Record>(owner.again_, i, made, x);
      else if constexpr (with_p<Params>::repeated::indexed) detail::call_lending(owner.again_, x, p, i, made);
      else detail::call_lending(owner.again_, x, p, made);
    }
  };

  /// In the place of the step of an object that was refused, so that there is one error.
  struct refused_step {
    refused_step(adaptive&, std::uint64_t) noexcept {}
    template <class Input, class... More>
    void operator()(Input&, More const&...) const {}
  };
  class repeatable {
   public:
    static constexpr bool needs_params = !plain;
    void operator()(State& x, step_index i) const
      requires plain
    {
      owner_->run(functions<no_params>{*owner_, detail::no_parameters}, x, i, loop_);
    }
    template <class, class Params>
    static consteval detail::step_shape step_with() {
      if constexpr (!with_p<Params>::fits) return detail::no_step(detail::fault::part);
      else return {step_form::in_place, true, false, detail::fault::none};
    }
    template <class, class Params>
    void run(Params const& p, step_index i, State& x) const {
      owner_->run(functions<Params>{*owner_, p}, x, i, loop_);
    }
    /// For a check: makes step i on x with a new choice, which is not recorded.
    void choose(detail::chosen_anew, State& x, step_index i) const
      requires plain
    {
      owner_->run_anew(functions<no_params>{*owner_, detail::no_parameters}, x, i);
    }
    /// Called by executors, once before each loop.
    void begin(detail::loop_begins loop) const {
      if (loop.anew) owner_->begin_anew(loop_);
      else owner_->begin(loop_);
    }
    /// The most that the records of so many steps take: while the array grows, the old one is beside the new one.
    [[nodiscard]] wide choice_bytes(step_index steps) const noexcept {
      if constexpr (!detail::is_flat<Record>()) return unknown_bytes;
      wide const now = owner_->records_.all.capacity();
      wide most = now > 0 ? now : 1;
      while (most < wide(steps)) most *= 2;
      return (most == now ? now : most + most / 2) * sizeof(Record);
    }
    /// For a run on disk.
    [[nodiscard]] detail::step_records<Record>& choices() const noexcept { return owner_->records_; }
    template <class Look>
    void each_function(Look const& look) const { look(owner_->first_), look(owner_->again_); }  ///< calls look with them

   private:
    friend adaptive;
    repeatable(adaptive& owner, std::uint64_t loop) noexcept : owner_{&owner}, loop_{loop} {}
    adaptive* owner_;
    std::uint64_t loop_;
  };
  using step_type = std::conditional_t<sound, repeatable, refused_step>;

 public:
  /// \param first  `record = first(x[, i])`   \param again  `again(x[, i], record)`, which changes x
  adaptive(First first, Again again) : first_{std::move(first)}, again_{std::move(again)} {}
  adaptive(adaptive const&) = delete;
  adaptive& operator=(adaptive const&) = delete;

  /// The step of a new loop; discards the records of the previous one. \throws invalid_call   by a step of the previous
  /// loop, and if a second loop begins with this step: it would repeat the choices of the first
  [[nodiscard]] step_type step() noexcept {
    records_.all.clear();
    records_.given = false;
    return step_type{*this, ++records_.loops};
  }
  /// The same with the records of steps that have run before, in another process for example: these steps repeat them,
  /// and later ones choose. For `resume`, and for a loop that is to repeat what another one chose.
  [[nodiscard]] step_type step(std::vector<Record> records) noexcept {
    records_.all = std::move(records);
    records_.given = true;
    return step_type{*this, ++records_.loops};
  }
  /// Adds the record of the step as last argument of an adjoint, or of the `record` of a recording adjoint: `f(x, bar[,
  /// i], record)`, `f(x, x1, bar[, i], record)`, `tape = f(x[, i], record)`. Keeps an lvalue by reference.
  template <class Fn>
  [[nodiscard]] auto with_record(Fn&& f) const {
    constexpr auto wrong_there = detail::fault_of_recalled<std::remove_reference_t<Fn>, State, Record>();
    static_assert(wrong_there == detail::fault::none,
                  "cairn: a function with the record of an adaptive step takes bar so that it cannot change it, or a "
                  "number as one of a narrower type than it is given; it is `f(x, bar, i, record)` with `auto& bar` and "
                  "`cairn::step_index i`");
    if constexpr (wrong_there != detail::fault::none) return detail::refused_recalled{};
    else return detail::recalling<detail::kept_as<Fn>, Record>{std::forward<Fn>(f), &records_};
  }

  /// The records, one for each step that has run.
  [[nodiscard]] std::vector<Record> const& records() const noexcept { return records_.all; }
  /// Bytes of the array of records.
  [[nodiscard]] std::size_t record_bytes() const noexcept { return records_.all.capacity() * sizeof(Record); }
  /// Reserves room for the records of `steps` steps, so that the array need not grow.
  void reserve(std::size_t steps) { records_.all.reserve(steps); }

 private:
  void check_loop(std::uint64_t loop, step_index i) const {
    if (loop != records_.loops)
      throw invalid_call{"cairn::adaptive",
                         "another loop has begun with these records",
                         {{"step", i}},
                         "use one adaptive object for each run that is kept"};
  }
  void begin_anew(std::uint64_t loop) {
    check_loop(loop, 0);
    if (!records_.given) records_.all.clear();
  }
  void begin(std::uint64_t loop) {
    check_loop(loop, 0);
    if (!records_.all.empty() && !std::exchange(records_.given, false))
      throw invalid_call{"cairn::adaptive",
                         "a second loop begins with this step, and would repeat what the first one chose",
                         {{"records", records_.all.size()}},
                         "call step() for each loop; checks of a model run several, so check the adjoint by "
                         "cairn::check_adjoint(loop.step(), loop.with_record(adjoint), x0, n)"};
  }
  template <class Functions>
  void run(Functions const& f, State& x, step_index i, std::uint64_t loop) {
    check_loop(loop, i);
    if (std::size_t(i) < records_.all.size()) return repeat(f, x, i);
    if (std::size_t(i) > records_.all.size()) (void)records_.at(i);
    if constexpr (Functions::only_chooses) {
      records_.all.push_back(detail::taken_from([&]() -> decltype(auto) { return f.first(std::as_const(x), i); }));
      repeat(f, x, i);
    } else {
      records_.all.push_back(detail::taken_from([&]() -> decltype(auto) { return f.first(x, i); }));
    }
  }
  template <class Functions>
  void run_anew(Functions const& f, State& x, step_index i) {
    auto const made = detail::taken_from([&]() -> decltype(auto) { return f.first(x, i); });
    if constexpr (Functions::only_chooses) f.again(x, i, made);
  }
  template <class Functions>
  void repeat(Functions const& f, State& x, step_index i) {
    f.again(x, i, std::as_const(records_.all[std::size_t(i)]));
  }

  First first_;
  Again again_;
  detail::step_records<Record> records_;
};

}  // namespace cairn
