// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file tuple.hpp  The states, tapes and adjoint of a chain whose stages are the elements of a tuple, each with types
/// of its own.
#include <cstddef>
#include <cstdint>
#include <tuple>
#include <type_traits>
#include <utility>
#include <cairn/core/action.hpp>
#include <cairn/core/buffers.hpp>
#include <cairn/core/detail/compiler.hpp>
#include <cairn/core/detail/state_hash.hpp>
#include <cairn/core/event.hpp>
#include <cairn/core/sweep_bytes.hpp>
#include <cairn/door/detail/stage_shape.hpp>
#include <cairn/run/chain/detail/call.hpp>
#include <cairn/run/chain/detail/seed.hpp>
#include <cairn/run/chain/store.hpp>

namespace cairn::detail {

/// Stage Place; for a tuple of references, the stage referred to.
template <class Given, std::size_t Place>
using stage_in = std::remove_reference_t<decltype(std::get<Place>(std::declval<Given&>().stages))>;
/// How many stages a tuple has.
template <class Given> inline constexpr std::size_t chain_length = 0;
template <class Stages, class Params, class DP>
  requires stage_tuple<Stages>
inline constexpr std::size_t chain_length<chain_given<Stages, Params, DP>> =
    std::tuple_size_v<std::remove_const_t<Stages>>;
template <class Given>
inline constexpr std::size_t chain_length<Given const> = chain_length<Given>;

/// The type of state Place.
template <class Given, class X0, std::size_t Place>
struct state_in {
  using before = typename state_in<Given, X0, Place - 1>::type;
  using type = next_of<stage_in<Given, Place - 1>, typename Given::context, before>;
};
template <class Given, class X0>
struct state_in<Given, X0, 0> { using type = X0; };

/// The form of stage Place of L, and the type of the adjoint of state Place.
template <class Given, class X0, class Bar, std::size_t Place, std::size_t Length>
struct stage_at {
  using after = typename stage_at<Given, X0, Bar, Place + 1, Length>::adjoint;
  using state = typename state_in<Given, X0, Place>::type;
  using reading = stage_reading<stage_in<Given, Place>, state, after, typename Given::context>;
  using adjoint = typename reading::adjoint;
};
template <class Given, class X0, class Bar, std::size_t Length>
struct stage_at<Given, X0, Bar, Length, Length> {
  using state = typename state_in<Given, X0, Length>::type;
  using adjoint = Bar;
};

/// What a tuple of stages holds during a sweep. The pointers to states and tapes are members.
template <class Given, class X0, class Bar,
          class Numbers = std::make_index_sequence<chain_length<Given>>>
class chain_tuple;
template <class Given, class X0, class Bar, std::size_t... Place>
class chain_tuple<Given, X0, Bar, std::index_sequence<Place...>> {
  static constexpr std::size_t size = sizeof...(Place);
  template <std::size_t Number> using at = stage_at<Given, X0, Bar, Number, size>;
  template <std::size_t Number> using tape = typename at<Number>::reading::tape;
  template <std::size_t Number> static constexpr stage_shape shape = at<Number>::reading::shape;

 public:
  using adjoint_type = typename at<0>::adjoint;  ///< the adjoint of state 0

  chain_tuple(Given const& given, X0 const& x0) : given_{given}, x0_{x0} {}
  chain_tuple(chain_tuple const&) = delete;

  static step_index count_of(Given const&) noexcept { return step_index(size); }
  static constexpr bool states_may_be_hashed =
      (hashable<typename at<Place>::state> && ... && hashable<typename at<size>::state>);
  static bool needs_state(Given const&, step_index i) noexcept {
    bool needs = false;
    with_stage(i, [&](auto k) { needs = shape<k()>.needs_state; });
    return needs;
  }

  void forward(step_index i) {
    with_stage(i, [&](auto k) {
      auto& into = std::get<k() + 1>(states_);
      into.reset();
      into.hold(new typename at<k()>::reading::next(run<k()>(state_at<k()>())));
    });
  }
  void record(step_index i) {
    with_stage(i, [&](auto k) {
      auto& into = std::get<k()>(tapes_);
      into.reset();
      into.hold(new tape<k()>(
          stage_record<typename at<k()>::reading>(std::get<k()>(given_.stages), given_, i, state_at<k()>())));
    });
    drop(i + 1);
  }
  void drop(step_index i) noexcept {
    with_state(i, [&](auto k) { std::get<k()>(states_).reset(); });
  }
  void drop_tape(step_index i) noexcept {
    with_stage(i, [&](auto k) { std::get<k()>(tapes_).reset(); });
  }
  template <class Seed>
  void loss(Seed&& seed) {
    auto const& x = state_at<size>();
    std::get<size>(bars_).make([&]() -> Bar { return adjoint_from<Bar>(std::forward<Seed>(seed), x); });
    std::get<size>(states_).reset();
  }
  void backward(step_index i) {
    with_stage(i, [&](auto k) {
      using reading = typename at<decltype(k)::value>::reading;
      auto& bar = std::get<k() + 1>(bars_);
      typename at<decltype(k)::value>::state const* x = nullptr;
      if constexpr (reading::shape.needs_state) x = address_of(state_at<decltype(k)::value>());
      auto& stage = std::get<decltype(k)::value>(given_.stages);
      auto& kept = *std::get<decltype(k)::value>(tapes_);
      if constexpr (reading::shape.gives_adjoint)
        std::get<k()>(bars_).hold(new typename reading::adjoint(
            stage_backward<reading>(stage, given_, i, x, kept, *bar)));
      else {
        stage_backward<reading>(stage, given_, i, x, kept, *bar);
        std::get<k()>(bars_) = std::move(bar);
      }
      bar.reset();
      std::get<k()>(tapes_).reset();
      std::get<k() + 1>(states_).reset();
    });
  }
  template <class Store>
  void save(Store& store, tier where, step_index i) {
    with_state(i, [&](auto k) { store.save(where, i, state_at<k()>()); });
  }
  template <class Store>
  void load(Store& store, tier where, step_index i) {
    if (i == 0) return;
    with_state(i, [&](auto k) {
      using state = typename at<decltype(k)::value>::state;
      auto& into = std::get<k()>(states_);
      into.reset();
      into.hold(new state(load_state<state>(store, where, i)));
    });
  }
  [[nodiscard]] adjoint_type take_adjoint() { return std::move(*std::get<0>(bars_)); }
  /// Calls f with the place of the adjoint of state i.
  template <class Fn>
  void with_adjoint(step_index i, Fn f) {
    with_state(i, [&](auto k) { f(std::get<k()>(bars_)); });
  }

  [[nodiscard]] std::size_t state_bytes(step_index i) const {
    std::size_t sum = 0;
    with_state(i, [&](auto k) { sum = std::get<k()>(states_).bytes(); });
    return sum;
  }
  [[nodiscard]] std::size_t tape_bytes(step_index i) const {
    std::size_t sum = 0;
    with_stage(i, [&](auto k) { sum = std::get<k()>(tapes_).bytes(); });
    return sum;
  }
  [[nodiscard]] std::size_t adjoint_bytes() const {
    return std::apply([](auto const&... bar) { return (bar.bytes() + ...); }, bars_);
  }
  [[nodiscard]] std::int64_t adjoint_work(step_index i, std::int64_t made, std::int64_t old) const {
    std::int64_t work = 0;
    with_stage(i, [&](auto k) { work = shape<k()>.gives_adjoint ? made : made - lesser(made, old); });
    return work;
  }
  [[nodiscard]] std::int64_t work_bytes(step_index i) const {
    std::int64_t work = 0;
    with_stage(i, [&](auto k) {
      if constexpr (tells_work<stage_in<Given, decltype(k)::value>, false>)
        work = work_bytes_of<false>(std::get<k()>(given_.stages), i);
    });
    return work;
  }
  [[nodiscard]] std::size_t bytes() const {
    return std::size_t(parts().total());
  }
  /// The same by purpose.
  [[nodiscard]] sweep_parts parts() const {
    auto const sum = [](auto const&... one) { return (wide{0} + ... + one.bytes()); };
    return {.states = std::apply(sum, states_), .adjoints = adjoint_bytes(), .tapes = std::apply(sum, tapes_)};
  }
  /// The hash of state i, which exists; 0 if not all of it is known.
  [[nodiscard]] std::uint64_t hash(step_index i) const {
    std::uint64_t made = 0;
    with_state(i, [&](auto k) { made = hash_if_known(state_at<k()>()); });
    return made;
  }
  /// The hash of what stage i makes of its state, which is not kept.
  [[nodiscard]] std::uint64_t hash_of_forward(step_index i) {
    std::uint64_t hash = 0;
    with_stage(i, [&](auto k) { hash = hash_if_known(run<k()>(state_at<k()>())); });
    return hash;
  }
  /// Visits the bytes of state i; returns false if it does not exist or its bytes are unknown.
  bool visit(step_index i, event::sink sink, void* context) const {
    bool visited = false;
    with_state(i, [&](auto k) { visited = at_hand<k()>() && show_runs(state_at<k()>(), sink, context); });
    return visited;
  }

 private:
  template <std::size_t Number>
  auto run(typename at<Number>::state const& x) {
    return stage_forward<typename at<Number>::reading>(std::get<Number>(given_.stages), given_, Number, x);
  }
  /// Calls f with the number i as a type.
  template <class Fn>
  static void with_stage([[maybe_unused]] step_index i, [[maybe_unused]] Fn f) {
    (void)((step_index(Place) == i ? (f(std::integral_constant<std::size_t, Place>{}), true) : false) || ...);
  }
  template <class Fn>
  static void with_state(step_index i, Fn f) {
    if (i == step_index(size)) f(std::integral_constant<std::size_t, size>{});
    else with_stage(i, f);
  }
  template <std::size_t Number>
  [[nodiscard]] bool at_hand() const {
    if constexpr (Number == 0) return true;
    else return std::get<Number>(states_) || std::get<Number - 1>(tapes_);
  }
  template <std::size_t Number>
  [[nodiscard]] typename at<Number>::state const& state_at() const {
    if constexpr (Number == 0) return x0_;
    else {
      if (auto const& own = std::get<Number>(states_)) return *own;
      auto const& in = *std::get<Number - 1>(tapes_);
      if constexpr (shape<Number - 1>.taped) return std::get<Number - 1>(given_.stages).output(in);
      else return in;
    }
  }

  Given const& given_;
  X0 const& x0_;
  std::tuple<boxed<typename at<Place>::state>..., boxed<typename at<size>::state>>
      states_;  ///< the place of state 0 stays empty
  std::tuple<boxed<tape<Place>>...> tapes_;
  std::tuple<boxed<typename at<Place>::adjoint>..., boxed<Bar>> bars_;  ///< one at a time
};

}  // namespace cairn::detail
