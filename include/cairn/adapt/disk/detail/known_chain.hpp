// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file known_chain.hpp  By which a chain on disk is known in every process, and how far its stages are.
#include <cstddef>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <cairn/adapt/disk/detail/contents.hpp>
#include <cairn/adapt/disk/detail/known_run.hpp>
#include <cairn/adapt/disk/detail/run_name.hpp>
#include <cairn/core/action.hpp>
#include <cairn/core/state_bytes.hpp>
#include <cairn/door/stage.hpp>
#include <cairn/run/chain/detail/checks.hpp>
#include <cairn/run/chain/detail/seed.hpp>

namespace cairn::detail {

/// Whether states and adjoints of a chain can be read back.   \tparam Bound  its stages as the sweep runs them
/// \tparam Bar  the adjoint of the last state
template <class Bound, class X0, class Bar, bool IsList = Bound::is_list>
struct types_of_chain {
  static constexpr bool states_are_stored = written_whole<X0>() && std::is_default_constructible_v<X0>;
  static constexpr bool bars_are_stored = written_whole<Bar>() && std::is_default_constructible_v<Bar>;
};
template <class Bound, class X0, class Bar>
struct types_of_chain<Bound, X0, Bar, false> {
  static constexpr std::size_t size = chain_length<Bound>;
  template <std::size_t Place> using state = typename state_in<Bound, X0, Place>::type;
  template <std::size_t Place> using bar = typename stage_at<Bound, X0, Bar, Place, size>::adjoint;
  template <class T>
  static constexpr bool is_stored = written_whole<T>() && std::is_default_constructible_v<T>;

  template <std::size_t... Place>
  static consteval bool all_states(std::index_sequence<Place...>) {
    return written_whole<X0>() && (is_stored<state<Place + 1>> && ...);
  }
  template <std::size_t... Place>
  static consteval bool all_bars(std::index_sequence<Place...>) { return (is_stored<bar<Place>> && ...); }
  static constexpr bool states_are_stored = all_states(std::make_index_sequence<size>{});
  static constexpr bool bars_are_stored = all_bars(std::make_index_sequence<size + 1>{});
};
/// Refuses states that cannot be read back.
template <class Known>
[[nodiscard]] consteval bool check_stored_chain() {
  constexpr bool stored = Known::states_are_stored;
  static_assert(stored,
                "cairn: a chain on disk needs states with a default constructor whose bytes can all be written and "
                "read back; give them members write_state(sink) const and read_state(source), or declare an array type "
                "by cairn::flat; Eigen's types need <cairn/adapt/eigen.hpp>");
  return stored;
}
/// Calls f with each stage that the user gave; with that of indexed_stages once.
template <class Stages, class Fn>
void each_stage(Stages& stages, Fn const& f) {
  if constexpr (is_indexed<std::remove_const_t<Stages>>) f(stages.stage);
  else if constexpr (stage_list<Stages>)
    for (std::size_t i = 0; i < std::size_t(stages.size()); ++i) f(std::as_const(stages[i]));
  else std::apply([&f](auto const&... one) { (f(one), ...); }, stages);
}
/// The stages' functions that run forward, and those that run backward, as far as they are apart.
template <class Stages>
struct forward_of_stages {
  Stages const& stages;
  template <class Look>
  void each_function(Look const& look) const {
    each_stage(stages, [&look]<class Stage>(Stage const& one) {
      if constexpr (!has_known_parts<Stage>) look(one);
      else {
        look(one.forward);
        if constexpr (requires { one.record; }) look(one.record), look(one.output);
      }
    });
  }
};
template <class Stages>
struct backward_of_stages {
  Stages const& stages;
  template <class Look>
  void each_function(Look const& look) const {
    each_stage(stages, [&look]<class Stage>(Stage const& one) {
      if constexpr (has_known_parts<Stage>) look(one.backward);
    });
  }
};
/// What the caller gave, its stages as functions.
template <class Stages, class Parts>
struct functions_of_chain {
  forward_of_stages<Stages> forward;
  backward_of_stages<Stages> backward;
  forward_of_stages<Stages> const* step = &forward;
  backward_of_stages<Stages> const* adjoint = &backward;
  decltype(Parts::seed) seed;
  decltype(Parts::p) p;
  decltype(Parts::dp) dp;

  explicit functions_of_chain(Parts const& parts)
      : forward{*parts.step}, backward{*parts.step}, seed{parts.seed}, p{parts.p}, dp{parts.dp} {}
  functions_of_chain(functions_of_chain const&) = delete;
};
/// What is looked at of them. From x0's type and the stages' follow the types of all states.
template <class X0, class Last, class Parts>
struct chain_parts : parts_of<Last, Parts> {
  using state = X0;
  static constexpr bool is_kept = false, is_open = false, has_objective = false,
                        has_seed = !parts_of<Last, Parts>::seed_is_known;
};

/// Writes the states that a chain saves to it.
template <class Sink>
struct states_to_sink {
  Sink& sink;
  template <class State>
  void save(tier, step_index, State const& x) { write_exactly(x, sink); }
};
/// The parts of a chain's name beside functions and parameters: how many stages there are, the plan, x0, a seed that is a
/// value, and what stage 0 makes of x0.
template <class Memory, class Last, class Parts, class Stages, class X0, class Actions>
void name_chain(run_name& name, Parts const& parts, Stages& stages, X0 const& x0, Actions const& actions) {
  using of = parts_of<Last, Parts>;
  step_index const count = Memory::count_of(stages);
  name.set(run_part::verb, "chain", [](id_sum& sum) { write_state(std::string{"chain"}, sum); });
  name.set(run_part::steps, "", [count](id_sum& sum) { sum.number(count); });
  name.set(run_part::plan, "", [&actions](id_sum& sum) {
    action const* const list = actions.data();
    for (std::size_t k = 0; k < actions.size(); ++k) {
      sum.number(list[k].kind);
      sum.number(list[k].where);
      sum.number(list[k].what);
      sum.number(list[k].from);
    }
  });
  name.set(run_part::initial, name_of_type<X0>(), [&x0](id_sum& sum) { add_value(sum, x0); });
  if constexpr (of::seed_is_known)
    name.set(run_part::seed, "", [&](id_sum& sum) { add_value(sum, *parts.seed); });
  if (count > 0) name.set(run_part::first, "", [&](id_sum& sum) {
    Memory run{stages, x0};
    run.forward(0);
    states_to_sink<id_sum> to{sum};
    run.save(to, tier::memory, 1);
  });
}

}  // namespace cairn::detail
