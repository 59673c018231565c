// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file list.hpp  The states, tapes and adjoint of a chain whose stages have one type: a vector of stages, or one
/// numbered stage.
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <utility>
#include <vector>
#include <cairn/core/action.hpp>
#include <cairn/core/buffers.hpp>
#include <cairn/core/detail/compiler.hpp>
#include <cairn/core/detail/lesser.hpp>
#include <cairn/core/detail/state_hash.hpp>
#include <cairn/core/event.hpp>
#include <cairn/core/sweep_bytes.hpp>
#include <cairn/door/stage.hpp>
#include <cairn/door/stage_value.hpp>
#include <cairn/run/chain/any_stage.hpp>
#include <cairn/run/chain/detail/boxed.hpp>
#include <cairn/run/chain/detail/call.hpp>
#include <cairn/run/chain/detail/seed.hpp>
#include <cairn/run/chain/detail/store_loads.hpp>

namespace cairn::detail {

template <class Stages> inline constexpr bool is_indexed = false;
template <class Stage> inline constexpr bool is_indexed<indexed_stages<Stage>> = true;
/// A vector of stages or a similar list.
template <class Stages>
concept stage_vector = requires(Stages& all) {
  { all.size() } -> std::convertible_to<std::size_t>;
  all[std::size_t{0}];
};
template <class Stages>
concept stage_list = is_indexed<std::remove_const_t<Stages>> || stage_vector<Stages>;

/// Stage i, and the number of stages. `with_index(f)` calls f with i for stages that take their number, otherwise
/// without.
template <stage_list Stages, bool Indexed = is_indexed<std::remove_const_t<Stages>>>
struct stage_access {
  using stage = std::remove_reference_t<decltype(std::declval<Stages&>()[0])>;
  template <class State> using next = typename next_state<stage, stage_arguments<State const&>>::type;
  template <class State, class Bar> using reading = stage_reading<stage, State, Bar>;
  static step_index count(Stages const& all) { return step_index(all.size()); }
  static stage& at(Stages& all, step_index i) { return all[std::size_t(i)]; }
  template <class Fn>
  static decltype(auto) with_index(step_index, Fn f) { return f(); }
};
template <stage_list Stages>
struct stage_access<Stages, true> {
  using stage = std::remove_reference_t<decltype((std::declval<Stages&>().stage))>;
  template <class State>
  using next = typename next_state<stage, stage_arguments<State const&, step_index const&>>::type;
  template <class State, class Bar> using reading = stage_reading<stage, State, Bar, step_index const&>;
  static step_index count(Stages const& all) { return all.count; }
  static stage& at(Stages& all, step_index) { return all.stage; }
  template <class Fn>
  static decltype(auto) with_index(step_index i, Fn f) { return f(i); }
};

/// Types of a list of stages, and of the view of a state: the state itself, or for `any_stage` a stage_view.
template <class Stages, class X0, class Bar>
struct list_types {
  using access = stage_access<Stages>;
  using reading = typename access::template reading<X0, Bar>;
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
  static bool needs_state(typename access::stage const&) noexcept { return shape.needs_state; }
  /// Bytes that adjoints take in addition while backward runs: those of a new adjoint, or of the growth of the old one.
  static std::int64_t adjoint_work(typename access::stage const&, std::int64_t made, std::int64_t old) noexcept {
    return shape.gives_adjoint ? made : made - lesser(made, old);
  }
};
template <class Stages, class X0, class Bar>
  requires erased_stage<typename stage_access<Stages>::stage>
struct list_types<Stages, X0, Bar> {
  using access = stage_access<Stages>;
  using stage = typename access::stage;
  using state = stage_value;
  using view = stage_view;
  using tape = stage_value;
  static constexpr stage_shape shape{.wrong = stage_fault::none, .taped = true, .gives_adjoint = true};

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
template <class Stages, class X0, class Bar>
class chain_list {
  using types = list_types<Stages, X0, Bar>;
  using access = typename types::access;
  using state_type = typename types::state;
  using tape_type = typename types::tape;

 public:
  using adjoint_type = Bar;  ///< the adjoint of state 0

  chain_list(Stages& stages, X0 const& x0)
      : stages_{stages}, x0_{x0}, states_(std::size_t(count()) + 1), tapes_(std::size_t(count())) {}
  chain_list(chain_list const&) = delete;

  static step_index count_of(Stages const& stages) { return access::count(stages); }
  static bool needs_state(Stages& stages, step_index i) { return types::needs_state(access::at(stages, i)); }
  /// For `any_stage` this is known only when the states exist.
  static constexpr bool states_may_be_hashed = hashable<state_type> || std::is_same_v<state_type, stage_value>;

  void forward(step_index i) {
    decltype(auto) x = state_at(i);
    put(states_[std::size_t(i) + 1],
        [&] { return access::with_index(i, [&](auto... index) { return stage_forward(stage(i), x, index...); }); });
  }
  void record(step_index i) {
    decltype(auto) x = state_at(i);
    put(tapes_[std::size_t(i)], [&] {
      return access::with_index(i, [&](auto... index) {
        if constexpr (types::shape.taped) return stage_record(stage(i), x, index...);
        else return stage_forward(stage(i), x, index...);
      });
    }, true);
    drop(i + 1);
  }
  void drop(step_index i) noexcept { take_away(states_[std::size_t(i)]); }
  void drop_tape(step_index i) noexcept { take_away(tapes_[std::size_t(i)], true); }
  template <class Seed>
  void loss(Seed&& seed) {
    decltype(auto) x = state_at(count());
    bar_.make([&]() -> Bar { return adjoint_from<Bar>(std::forward<Seed>(seed), x); });
    drop(count());
  }
  void backward(step_index i) {
    auto& kept = tapes_[std::size_t(i)];
    auto& tape = *kept;
    discount(kept, true);  // its bytes may change, and it goes
    auto const pull = [&](auto const* x) {
      if constexpr (std::is_same_v<state_type, stage_value>) return stage(i).backward(*x, tape, *bar_);
      else
        return access::with_index(i, [&](auto... index) { return stage_backward(stage(i), x, tape, *bar_, index...); });
    };
    auto const pull_at_state = [&] {
      if constexpr (types::shape.needs_state) {
        decltype(auto) x = state_at(i);
        return pull(address_of(x));
      } else return pull(static_cast<state_type const*>(nullptr));
    };
    if constexpr (types::shape.gives_adjoint) {
      boxed<Bar> made;
      made.make(pull_at_state);
      bar_ = std::move(made);
    } else pull_at_state();
    kept.reset();
    drop(i + 1);
  }
  template <class Store>
  void save(Store& store, tier where, step_index i) { store.save(where, i, state_at(i)); }
  template <class Store>
  void load(Store& store, tier where, step_index i) {
    if (i == 0) return;
    put(states_[std::size_t(i)], [&]() -> state_type { return load_state<state_type>(store, where, i); });
  }
  [[nodiscard]] Bar take_adjoint() { return std::move(*bar_); }
  /// Calls f with the place of the adjoint of state i.
  template <class Fn>
  void with_adjoint(step_index, Fn f) { f(bar_); }

  [[nodiscard]] std::size_t state_bytes(step_index i) const { return states_[std::size_t(i)].bytes(); }
  [[nodiscard]] std::size_t tape_bytes(step_index i) const { return tapes_[std::size_t(i)].bytes(); }
  [[nodiscard]] std::size_t adjoint_bytes() const { return bar_.bytes(); }
  [[nodiscard]] std::int64_t adjoint_work(step_index i, std::int64_t made, std::int64_t old) const {
    return types::adjoint_work(stage(i), made, old);
  }
  [[nodiscard]] std::int64_t work_bytes([[maybe_unused]] step_index i) const {
    static constexpr bool indexed = is_indexed<std::remove_const_t<Stages>>;
    using stage_type = typename access::stage;
    if constexpr (indexed && tells_work<stage_type, step_index>) return std::int64_t(stage(i).work_bytes(i));
    else if constexpr (!indexed && tells_work<stage_type>) return std::int64_t(stage(i).work_bytes());
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
    auto const made = access::with_index(i, [&](auto... index) { return stage_forward(stage(i), x, index...); });
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
  template <class Box, class Make>
  void put(Box& into, Make const& make, bool tape = false) {
    discount(into, tape);
    into.make(make);
    if (counts_) (tape ? tape_sum_ : sum_) += into.bytes();
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
  [[nodiscard]] step_index count() const { return access::count(stages_); }
  [[nodiscard]] auto& stage(step_index i) const { return access::at(stages_, i); }
  [[nodiscard]] bool at_hand(step_index i) const {
    return i == 0 || states_[std::size_t(i)] || tapes_[std::size_t(i) - 1];
  }
  /// State i; an empty stage_view if it does not exist.
  [[nodiscard]] typename types::view state_at(step_index i) const {
    if (i == 0) return types::of(x0_);
    if (auto const& own = states_[std::size_t(i)]) return types::of(*own);
    if constexpr (std::is_same_v<typename types::view, stage_view>)
      if (!tapes_[std::size_t(i) - 1]) return {};
    return types::in_tape(stage(i - 1), *tapes_[std::size_t(i) - 1]);
  }

  Stages& stages_;
  X0 const& x0_;
  std::vector<boxed<state_type>> states_;  ///< 0..L; the place of state 0 stays empty
  std::vector<boxed<tape_type>> tapes_;
  boxed<Bar> bar_;
  mutable std::size_t sum_ = 0, tape_sum_ = 0;  ///< bytes of states and of tapes, if they are counted: for observers
  mutable bool counts_ = false;
};

}  // namespace cairn::detail
