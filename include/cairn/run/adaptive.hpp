#pragma once
/// \file adaptive.hpp  Steps that choose their own size: what was chosen is recorded for every step, and repeated in
/// replays and adjoints.
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <utility>
#include <vector>
#include <cairn/core/action.hpp>
#include <cairn/core/detail/callable.hpp>
#include <cairn/core/detail/copy_fault.hpp>
#include <cairn/core/detail/step_shape.hpp>
#include <cairn/core/detail/user_values.hpp>
#include <cairn/core/error.hpp>
#include <cairn/core/state_traits.hpp>

namespace cairn {
namespace detail {

struct no_record {};
/// What `first` works on, and what it returns.
template <class State, class Record>
struct choice {
  using state = std::remove_cvref_t<State>;
  using record = std::conditional_t<std::is_void_v<Record>, no_record, std::remove_cvref_t<Record>>;
};
template <class R, class X, class... Index> choice<X, R> choice_of(R (*)(X, Index...));
template <class R, class C, class X, class... Index> choice<X, R> choice_of(R (C::*)(X, Index...));
template <class R, class C, class X, class... Index> choice<X, R> choice_of(R (C::*)(X, Index...) const);

template <class F> struct chosen_by { using type = choice<no_record, no_record>; };
template <class F>
  requires requires { choice_of(&F::operator()); }
struct chosen_by<F> { using type = decltype(choice_of(&F::operator())); };
template <class F>
  requires std::is_function_v<std::remove_pointer_t<F>>
struct chosen_by<F> { using type = decltype(choice_of(static_cast<F>(nullptr))); };

/// Calls f(x..., i), or f(x...) where that is what f takes.
template <class F, class... X>
concept calls_at_step = calls<F, X..., step_index const&> || calls<F, X...>;
template <class F, class... X>
decltype(auto) call_at_step(F& f, step_index const i, X&&... x) {
  if constexpr (calls<F, X..., step_index const&>) return call_lending(f, std::forward<X>(x)..., i);
  else return call_lending(f, std::forward<X>(x)...);
}
/// Stands where a record is due that is a number, and fits no other number's place, as that of an index.
template <class Record>
struct record_only {
  template <class T>
    requires std::is_same_v<std::remove_cv_t<T>, Record>
  operator T() const;
};
template <class F, class Record, class... X>
concept takes_record = calls<F, X..., Record const&> &&
    (!std::is_arithmetic_v<Record> || !one_signature<F> || calls<F, X..., record_only<Record>>);
/// Called as f(x..., i, record), and i does not become a floating-point number.
template <class F, class Record, class... X>
concept takes_index_and_record = takes_record<F, Record, X..., step_index const&> &&
    !(one_signature<F> && calls<F, X..., floating_only, Record const&>);
/// Called like this, or as f(x..., record).
template <class F, class Record, class... X>
concept calls_with_record = takes_index_and_record<F, Record, X...> || takes_record<F, Record, X...>;
template <class F, class Record, class... X>
decltype(auto) call_with_record(F& f, step_index const i, Record const& record, X&&... x) {
  if constexpr (takes_index_and_record<F, Record, X...>) return call_lending(f, std::forward<X>(x)..., i, record);
  else return call_lending(f, std::forward<X>(x)..., record);
}

/// The records of one loop after another.
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

/// A callable of the user's that gets the record of its step, too: as an adjoint with one or two states, or as the
/// `record` of a recording one.
template <class F, class Record>
struct recalling {
  mutable F f;  // mutable, so that a const copy of a mutable lambda works
  step_records<Record> const* records;

  template <class State>
    requires calls_with_record<F, Record, State&>
    decltype(auto) operator()(State& x, step_index i) const {
      return call_with_record<F, Record>(f, i, records->at(i), x);
    }
  // As f takes bar, by reference or by value, so do these; the last index of a leaf is no bar.
  template <class State, class Bar>
    requires calls_with_record<F, Record, State const&, Bar>
  decltype(auto) operator()(State const& x, Bar&& bar, step_index i) const {
    return call_with_record<F, Record>(f, i, records->at(i), x, std::forward<Bar>(bar));
  }
  // An object may be moved by its adjoint.
  template <class State, class Bar>
    requires(saved_state<State> && calls_with_record<F, Record, State&, Bar>)
  decltype(auto) operator()(State& x, Bar&& bar, step_index i) const {
    return call_with_record<F, Record>(f, i, records->at(i), x, std::forward<Bar>(bar));
  }
  template <class State, class Bar>
    requires(!std::is_same_v<Bar, step_index> && calls_with_record<F, Record, State const&, State const&, Bar>)
  decltype(auto) operator()(State const& x, State const& x1, Bar&& bar, step_index i) const {
    return call_with_record<F, Record>(f, i, records->at(i), x, x1, std::forward<Bar>(bar));
  }
};

}  // namespace detail

/// A step that is chosen once and then repeated: an integrator that tries step sizes until one is accepted, an
/// iteration to a tolerance. The first run of step i calls `record = first(x[, i])`, which makes one accepted step on x
/// and returns what it chose (a step size, an order, flags); later runs call `again(x[, i], record)`, without what
/// chooses. Where `first` takes x by const reference or by value it only chooses, and `again` makes the step also the
/// first time: one more run of each step, and then no two codes whose bits could differ. Otherwise both must give the
/// same bits: let both call one function for the arithmetic; `check_adjoint(loop.step(), ...)` compares them.
///
/// Both have one signature, so `auto` is no parameter of `first`. One object serves one loop at a time, and must
/// outlive its run; it stays where it is. Memory: a record a step, in an array that doubles as it grows and is kept for
/// the next loop.
template <class First, class Again>
class adaptive {
  using State = typename detail::chosen_by<First>::type::state;
  using Record = typename detail::chosen_by<First>::type::record;
  static constexpr bool returns = !std::is_same_v<Record, detail::no_record>,
                        owns = !returns || detail::standalone<Record>;
  static_assert(owns,
                "cairn: the record that `first` returns is a pointer, a view or an expression of data that goes on to "
                "change; return one that owns its data, as x.eval() gives it");
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
    /// By what runs a loop, once for each.
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

  /// The step of a new loop; the records of the one before are gone. \throws invalid_call from a step of the loop
  /// before, and where a second loop begins with this one: it would repeat what the first one chose
  [[nodiscard]] repeatable step() noexcept {
    records_.all.clear();
    return {*this, ++records_.loops};
  }
  /// An adjoint, or the `record` of a recording one, that gets the record of its step as last argument:
  /// `f(x, bar[, i], record)`, `f(x, x1, bar[, i], record)`, `tape = f(x[, i], record)`. Keeps a copy of f.
  template <class F>
  [[nodiscard]] auto with_record(F f) const { return detail::recalling<F, Record>{std::move(f), &records_}; }

  /// One for each step that has run.
  [[nodiscard]] std::vector<Record> const& records() const noexcept { return records_.all; }
  /// That the array of records takes.
  [[nodiscard]] std::size_t record_bytes() const noexcept { return records_.all.capacity() * sizeof(Record); }
  /// Room for so many steps, so that the array need not grow.
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
    if (!records_.all.empty())
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
  void repeat(State& x, step_index i) {
    detail::call_with_record<Again, Record>(again_, i, std::as_const(records_.all[std::size_t(i)]), x);
  }

  First first_;
  Again again_;
  detail::step_records<Record> records_;
};

}  // namespace cairn
