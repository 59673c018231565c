// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file list.hpp  The states, tapes and adjoint of a chain whose stages have one type: a vector of stages, or one
/// numbered stage.
#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <utility>
#include <vector>
#include <cairn/core/action.hpp>
#include <cairn/core/buffers.hpp>
#include <cairn/core/detail/compiler.hpp>
#include <cairn/core/detail/state_hash.hpp>
#include <cairn/core/event.hpp>
#include <cairn/core/sweep_bytes.hpp>
#include <cairn/door/stage_value.hpp>
#include <cairn/run/chain/detail/call.hpp>
#include <cairn/run/chain/detail/seed.hpp>
#include <cairn/run/chain/store.hpp>

namespace cairn::detail {

/// Types of a list of stages, and of the view of a state: the state itself, or for `any_stage` a stage_view.
template <class Given, class X0, class Bar>
struct list_types {
  using stage = typename Given::stage;
  using reading = stage_reading<stage, X0, Bar, typename Given::context>;
  using state = X0;
  using view = X0 const&;
  using tape = typename reading::tape;
  static constexpr stage_shape shape = reading::shape;

  static view of(X0 const& x) noexcept { return x; }
  template <class Stage>
  static view in_tape([[maybe_unused]] Stage& stage, tape const& from) {
    if constexpr (shape.taped) return stage.output(from);
    else return from;
  }
  static bool needs_state(stage const&) noexcept { return shape.needs_state; }
  /// Bytes that adjoints take in addition while backward runs: those of a new adjoint, or of the growth of the old one.
  static std::int64_t adjoint_work(stage const&, std::int64_t made, std::int64_t old) noexcept {
    return shape.gives_adjoint ? made : made - lesser(made, old);
  }
};
template <class Given, class X0, class Bar>
  requires Given::of_any
struct list_types<Given, X0, Bar> {
  using stage = any_stage;
  using state = stage_value;
  using view = stage_view;
  using tape = stage_value;
  static constexpr stage_shape shape{.wrong = stage_fault::none, .taped = true, .gives_adjoint = true,
                                     .runs_with_p = true, .records_with_p = true};
  static constexpr bool indexed = false;
  using reading = list_types;

  static view of(stage_value const& x) noexcept { return x.view(); }
  template <class State>
  static view of(State const& x) noexcept { return stage_view{x}; }
  static view in_tape(stage& of, stage_value const& from) { return of.output(from); }
  static bool needs_state(stage const& of) noexcept { return of.needs_state(); }
  static std::int64_t adjoint_work(stage const& of, std::int64_t made, std::int64_t old) noexcept {
    return of.gives_adjoint() ? made : std::int64_t{sizeof(stage_value)} + made - lesser(made, old);
  }
};

/// What a list of stages holds during a sweep. Each state and tape has a pointer: 8 (2 L + 1) bytes in total.
template <class Given, class X0, class Bar>
class chain_list {
  using types = list_types<Given, X0, Bar>;
  using state_type = typename types::state;
  using tape_type = typename types::tape;
  using reading = typename types::reading;
  using stage_type = typename types::stage;

 public:
  using adjoint_type = Bar;  ///< the adjoint of state 0

  chain_list(Given const& given, X0 const& x0)
      : given_{given}, x0_{x0}, states_(std::size_t(given.count()) + 1), tapes_(std::size_t(given.count())) {}
  chain_list(chain_list const&) = delete;

  static step_index count_of(Given const& given) { return given.count(); }
  static bool needs_state(Given const& given, step_index i) { return types::needs_state(given[i]); }
  /// For `any_stage` this is known only when the states exist.
  static constexpr bool states_may_be_hashed = hashable<state_type> || std::is_same_v<state_type, stage_value>;

  void forward(step_index i) {
    decltype(auto) x = state_at(i);
    auto& into = states_[std::size_t(i) + 1];
    take_away(into);
    into.hold(new state_type(stage_forward<reading>(given_[i], given_, i, x)));
    count(into);
  }
  void record(step_index i) {
    decltype(auto) x = state_at(i);
    auto& into = tapes_[std::size_t(i)];
    take_away(into, true);
    into.hold(new tape_type(stage_record<reading>(given_[i], given_, i, x)));
    count(into, true);
    drop(i + 1);
  }
  void drop(step_index i) noexcept { take_away(states_[std::size_t(i)]); }
  void drop_tape(step_index i) noexcept { take_away(tapes_[std::size_t(i)], true); }
  template <class Seed>
  void loss(Seed&& seed) {
    decltype(auto) x = state_at(given_.count());
    bar_.make([&]() -> Bar { return adjoint_from<Bar>(std::forward<Seed>(seed), x); });
    drop(given_.count());
  }
  void backward(step_index i) {
    auto& kept = tapes_[std::size_t(i)];
    auto& tape = *kept;
    discount(kept, true);  // its bytes may change, and it goes
    decltype(auto) x = input_of(i);
    if constexpr (Given::of_any) bar_.replace(new Bar(given_[i].backward(x, tape, *bar_, given_.p)));
    else if constexpr (types::shape.gives_adjoint)
      bar_.replace(new Bar(stage_backward<reading>(given_[i], given_, i, x, tape, *bar_)));
    else stage_backward<reading>(given_[i], given_, i, x, tape, *bar_);
    kept.reset();
    drop(i + 1);
  }
  template <class Store>
  void save(Store& store, tier where, step_index i) { store.save(where, i, state_at(i)); }
  template <class Store>
  void load(Store& store, tier where, step_index i) {
    if (i == 0) return;
    auto& into = states_[std::size_t(i)];
    take_away(into);
    into.hold(new state_type(load_state<state_type>(store, where, i)));
    count(into);
  }
  [[nodiscard]] Bar take_adjoint() { return std::move(*bar_); }
  /// Calls f with the place of the adjoint of state i.
  template <class Fn>
  void with_adjoint(step_index, Fn f) { f(bar_); }

  [[nodiscard]] std::size_t state_bytes(step_index i) const { return states_[std::size_t(i)].bytes(); }
  [[nodiscard]] std::size_t tape_bytes(step_index i) const { return tapes_[std::size_t(i)].bytes(); }
  [[nodiscard]] std::size_t adjoint_bytes() const { return bar_.bytes(); }
  [[nodiscard]] std::int64_t adjoint_work(step_index i, std::int64_t made, std::int64_t old) const {
    return types::adjoint_work(given_[i], made, old);
  }
  [[nodiscard]] std::int64_t work_bytes([[maybe_unused]] step_index i) const {
    constexpr bool indexed = Given::context::indexed;
    if constexpr (tells_work<stage_type, indexed>) return work_bytes_of<indexed>(given_[i], i);
    else return 0;
  }
  /// Of everything held. The first call sums all; from then on what changes is counted.
  [[nodiscard]] std::size_t bytes() const {
    if (!counts_) {
      sum_ = tape_sum_ = 0;
      for (auto const& one : states_) sum_ += one.bytes();
      for (auto const& one : tapes_) tape_sum_ += one.bytes();
      counts_ = true;
    }
    return sum_ + tape_sum_ + bar_.bytes();
  }
  /// The same by purpose, as it was summed last.
  [[nodiscard]] sweep_parts parts() const {
    return {.states = sum_, .adjoints = bar_.bytes(), .tapes = tape_sum_};
  }
  /// The hash of state i, which exists; 0 if not all of it is known.
  [[nodiscard]] std::uint64_t hash(step_index i) const {
    if constexpr (std::is_same_v<state_type, stage_value>) return state_at(i).hash();
    else return hash_if_known(state_at(i));
  }
  /// The hash of what stage i makes of its state, which is not kept.
  [[nodiscard]] std::uint64_t hash_of_forward(step_index i) {
    auto&& x = state_at(i);
    auto const made = stage_forward<reading>(given_[i], given_, i, x);
    if constexpr (std::is_same_v<state_type, stage_value>) return made.view().hash();
    else return hash_if_known(made);
  }
  /// Visits the bytes of state i; returns false if it does not exist or its bytes are unknown.
  bool visit(step_index i, event::sink sink, void* context) const {
    if (!at_hand(i)) return false;
    if constexpr (std::is_same_v<state_type, stage_value>) return state_at(i).visit(sink, context);
    else return show_runs(state_at(i), sink, context);
  }

 private:
  template <class Box>
  void count(Box const& made, bool tape = false) {
    if (counts_) (tape ? tape_sum_ : sum_) += made.bytes();
  }
  template <class Box>
  void take_away(Box& from, bool tape = false) noexcept {
    discount(from, tape);
    from.reset();
  }
  template <class Box>
  void discount(Box const& gone, bool tape) noexcept {
    if (!counts_) return;
    try {
      (tape ? tape_sum_ : sum_) -= gone.bytes();
    } catch (...) {
      counts_ = false;
    }
  }
  [[nodiscard]] bool at_hand(step_index i) const {
    return i == 0 || states_[std::size_t(i)] || tapes_[std::size_t(i) - 1];
  }
  /// State i; an empty stage_view if it does not exist.
  [[nodiscard]] typename types::view state_at(step_index i) const {
    if (i == 0) return types::of(x0_);
    if (auto const& own = states_[std::size_t(i)]) return types::of(*own);
    if constexpr (std::is_same_v<typename types::view, stage_view>)
      if (!tapes_[std::size_t(i) - 1]) return {};
    return types::in_tape(given_[i - 1], *tapes_[std::size_t(i) - 1]);
  }
  /// What backward gets of state i.
  [[nodiscard]] decltype(auto) input_of([[maybe_unused]] step_index i) const {
    if constexpr (Given::of_any) return state_at(i);
    else if constexpr (types::shape.needs_state) return address_of(state_at(i));
    else return static_cast<X0 const*>(nullptr);
  }

  Given const& given_;
  X0 const& x0_;
  std::vector<boxed<state_type>> states_;  ///< 0..L; the place of state 0 stays empty
  std::vector<boxed<tape_type>> tapes_;
  boxed<Bar> bar_;
  mutable std::size_t sum_ = 0, tape_sum_ = 0;  ///< bytes of states and of tapes, if they are counted: for observers
  mutable bool counts_ = false;
};

}  // namespace cairn::detail
