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
#include <cairn/core/detail/callable.hpp>
#include <cairn/core/detail/copy_fault.hpp>
#include <cairn/core/detail/kept_as.hpp>
#include <cairn/core/detail/step_shape.hpp>
#include <cairn/core/detail/user_values.hpp>
#include <cairn/core/error.hpp>
#include <cairn/core/state_traits.hpp>

namespace cairn {
namespace detail {

struct no_record {};
/// Asks a step that repeats what it recorded to choose anew.
struct chosen_anew {};
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
/// Stands for a record that is a number. It does not convert to other numbers, so it cannot be mistaken for an index.
template <class Record>
struct record_only {
  template <class T>
    requires std::is_same_v<std::remove_cv_t<T>, Record>
  operator T() const;
};
template <class Fn, class Record, class... Input>
concept takes_record = calls<Fn, Input..., Record const&> &&
    (!std::is_arithmetic_v<Record> || !one_signature<Fn> || calls<Fn, Input..., record_only<Record>>);
/// Called as f(x..., i, record), without converting i to a floating-point number.
template <class Fn, class Record, class... Input>
concept takes_index_and_record = takes_record<Fn, Record, Input..., step_index const&> &&
    !(one_signature<Fn> && calls<Fn, Input..., floating_only, Record const&>);
/// Called as f(x..., i, record) or as f(x..., record).
template <class Fn, class Record, class... Input>
concept calls_with_record = takes_index_and_record<Fn, Record, Input...> || takes_record<Fn, Record, Input...>;
template <class Fn, class Record, class... Input>
decltype(auto) call_with_record(Fn& f, step_index const i, Record const& record, Input&&... x) {
  if constexpr (takes_index_and_record<Fn, Record, Input...>)
    return call_lending(f, std::forward<Input>(x)..., i, record);
  else return call_lending(f, std::forward<Input>(x)..., record);
}

/// The records of a loop; reused for the next loop.
template <class Record>
struct step_records {
  std::vector<Record> all;
  std::uint64_t loops = 0;

  [[nodiscard]] Record const& at(step_index i) const {
    if (std::size_t(i) >= all.size())
      throw invalid_call{"cairn::adaptive",
                         "there is no record of this step yet",
                         {{"step", i}, {"records", all.size()}},
                         "the loop has to run forward first: reverse a run of checkpointed_while or checkpointed_loop"};
    return all[std::size_t(i)];
  }
};

/// A user's callable that also receives the record of its step: an adjoint with one or two states, or the `record` of a
/// recording adjoint.
template <class Fn, class Record>
struct recalling {
  using called = std::remove_reference_t<Fn>;
  kept_callable<Fn> kept;
  step_records<Record> const* records;

  template <class State>
    requires calls_with_record<called, Record, State&>
    decltype(auto) operator()(State& x, step_index i) const {
      return call_with_record<called, Record>(*kept, i, records->at(i), x);
    }
  // These take bar as f does, by reference or by value; the last index of a leaf is not a bar.
  template <class State, class Bar>
    requires calls_with_record<called, Record, State const&, Bar>
  decltype(auto) operator()(State const& x, Bar&& bar, step_index i) const {
    return call_with_record<called, Record>(*kept, i, records->at(i), x, std::forward<Bar>(bar));
  }
  // The adjoint of an object may change the object.
  template <class State, class Bar>
    requires(saved_state<State> && calls_with_record<called, Record, State&, Bar>)
  decltype(auto) operator()(State& x, Bar&& bar, step_index i) const {
    return call_with_record<called, Record>(*kept, i, records->at(i), x, std::forward<Bar>(bar));
  }
  template <class State, class Bar>
    requires(!std::is_same_v<Bar, step_index> && calls_with_record<called, Record, State const&, State const&, Bar>)
  decltype(auto) operator()(State const& x, State const& x1, Bar&& bar, step_index i) const {
    return call_with_record<called, Record>(*kept, i, records->at(i), x, x1, std::forward<Bar>(bar));
  }
};

}  // namespace detail

/// A step that is chosen once and then repeated: an integrator that tries step sizes until one is accepted, or an
/// iteration to a tolerance. The first run of step i calls `record = first(x[, i])`, which makes one accepted step on x
/// and returns its choice (a step size, an order, flags). Later runs call `again(x[, i], record)`, which repeats the
/// step without choosing.
/// If `first` takes x by const reference or by value, it only chooses, and `again` makes the step also the first time.
/// This runs each step once more, but then no two pieces of code can differ in bits. Otherwise both must give the same
/// bits: let both call one function for the arithmetic; `check_adjoint(loop.step(), ...)` compares them.
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
  static_assert(!chooses || !owns || detail::calls_with_record<Again, Record, State&>,
                "cairn: adaptive{first, again} needs `again(x, i, record)`, which repeats the step that `first` "
                "recorded; i may be left out");

  class repeatable {
   public:
    void operator()(State& x, step_index i) const { owner_->run(x, i, loop_); }
    /// For a check: makes step i on x with a new choice, which is not recorded.
    void choose(detail::chosen_anew, State& x, step_index i) const { owner_->run_anew(x, i); }
    /// Called by executors, once before each loop.
    void begin(detail::loop_begins) const { owner_->begin(loop_); }

   private:
    friend adaptive;
    repeatable(adaptive& owner, std::uint64_t loop) noexcept : owner_{&owner}, loop_{loop} {}
    adaptive* owner_;
    std::uint64_t loop_;
  };

 public:
  /// \param first  `record = first(x[, i])`   \param again  `again(x[, i], record)`, which changes x
  adaptive(First first, Again again) : first_{std::move(first)}, again_{std::move(again)} {}
  adaptive(adaptive const&) = delete;
  adaptive& operator=(adaptive const&) = delete;

  /// The step of a new loop; discards the records of the previous one. \throws invalid_call   by a step of the previous
  /// loop, and if a second loop begins with this step: it would repeat the choices of the first
  [[nodiscard]] repeatable step() noexcept {
    records_.all.clear();
    given_ = false;
    return {*this, ++records_.loops};
  }
  /// The same with the records of steps that have run before, in another process for example: these steps repeat them,
  /// and later ones choose. For `resume`, and for a loop that is to repeat what another one chose.
  [[nodiscard]] repeatable step(std::vector<Record> records) noexcept {
    records_.all = std::move(records);
    given_ = true;
    return {*this, ++records_.loops};
  }
  /// Adds the record of the step as last argument of an adjoint, or of the `record` of a recording adjoint: `f(x, bar[,
  /// i], record)`, `f(x, x1, bar[, i], record)`, `tape = f(x[, i], record)`. Keeps an lvalue by reference.
  template <class Fn>
  [[nodiscard]] auto with_record(Fn&& f) const {
    return detail::recalling<detail::kept_as<Fn>, Record>{std::forward<Fn>(f), &records_};
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
  void begin(std::uint64_t loop) {
    check_loop(loop, 0);
    if (!records_.all.empty() && !std::exchange(given_, false))
      throw invalid_call{"cairn::adaptive",
                         "a second loop begins with this step, and would repeat what the first one chose",
                         {{"records", records_.all.size()}},
                         "call step() for each loop"};
  }
  void run(State& x, step_index i, std::uint64_t loop) {
    constexpr bool only_chooses = detail::calls_at_step<First, State const&>;
    check_loop(loop, i);
    if (std::size_t(i) < records_.all.size()) return repeat(x, i);
    if (std::size_t(i) > records_.all.size()) (void)records_.at(i);
    if constexpr (only_chooses) {
      records_.all.push_back(
          detail::taken_from([&]() -> decltype(auto) { return detail::call_at_step(first_, i, std::as_const(x)); }));
      repeat(x, i);
    } else {
      records_.all.push_back(
          detail::taken_from([&]() -> decltype(auto) { return detail::call_at_step(first_, i, x); }));
    }
  }
  void run_anew(State& x, step_index i) {
    auto const made = detail::taken_from([&]() -> decltype(auto) { return detail::call_at_step(first_, i, x); });
    if constexpr (detail::calls_at_step<First, State const&>)
      detail::call_with_record<Again, Record>(again_, i, made, x);
  }
  void repeat(State& x, step_index i) {
    detail::call_with_record<Again, Record>(again_, i, std::as_const(records_.all[std::size_t(i)]), x);
  }

  First first_;
  Again again_;
  detail::step_records<Record> records_;
  bool given_ = false;  // the records were given, and no loop has begun with them
};

}  // namespace cairn
