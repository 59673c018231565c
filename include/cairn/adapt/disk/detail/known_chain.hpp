// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file known_chain.hpp  By which a chain on disk is known in every process, and how far its stages are.
#include <cstddef>
#include <cstdint>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <cairn/adapt/disk/detail/known_run.hpp>
#include <cairn/adapt/disk/detail/trust.hpp>
#include <cairn/core/action.hpp>
#include <cairn/core/stage.hpp>
#include <cairn/core/state_bytes.hpp>
#include <cairn/run/chain/detail/checks.hpp>
#include <cairn/run/chain/detail/with_params.hpp>
#include <cairn/run/detail/action_range.hpp>

namespace cairn::detail {

template <class Forward, class Backward> struct captures<stage<Forward, Backward>> {
  static constexpr bool nothing = capture_nothing<Forward, Backward>, only_backward = capture_nothing<Forward>;
  template <class Look>
  static void each(stage<Forward, Backward> const& f, Look const& look) { look(f.forward), look(f.backward); }
};
template <class Forward, class Record, class Output, class Backward>
struct captures<taped_stage<Forward, Record, Output, Backward>> {
  static constexpr bool only_backward = capture_nothing<Forward, Record, Output>,
                        nothing = only_backward && capture_nothing<Backward>;
  template <class Look>
  static void each(taped_stage<Forward, Record, Output, Backward> const& f, Look const& look) {
    look(f.forward), look(f.record), look(f.output), look(f.backward);
  }
};

/// Made of numbers and of containers of numbers, whose bytes say all of it. A closure is not: what it captures by
/// reference is not seen.
template <class T>
[[nodiscard]] consteval bool holds_only_values();
template <class... T>
[[nodiscard]] consteval bool hold_only_values(types<T...>) {
  return (holds_only_values<std::remove_const_t<T>>() && ...);
}
template <class T>
[[nodiscard]] consteval bool holds_only_values() {
  if constexpr (number<T>) return true;
  else if constexpr (!written_state<T>) return false;
  else if constexpr (std::is_array_v<T>) return holds_only_values<std::remove_all_extents_t<T>>();
  else if constexpr (range_like<T>)
    return requires { requires holds_only_values<typename T::value_type>(); };
  else if constexpr (has_members<T>) return hold_only_values(member_types<T>{});
  else return false;
}

/// A stage that is called through a constant object.   \tparam Stage  as a sweep runs it
template <class Stage> struct constant_stage { using type = Stage const; };
template <class Stage, class Params, class DP, bool Indexed>
struct constant_stage<stage_with_params<Stage, Params, DP, Indexed>> {
  using type = stage_with_params<Stage const, Params, DP, Indexed> const;
};
/// What is known of a stage: everything, its variables as a part of the run's name; all but its backward; nothing.
enum class stage_knowledge : std::uint8_t { whole, forward, none };
/// \tparam Given  the user's stage   \tparam Bound  as the sweep runs it   \tparam All  the arguments of its forward
template <class Given, class Bound, class All>
[[nodiscard]] consteval stage_knowledge knowledge_of_stage() {
  using stage_type = std::remove_const_t<Given>;
  if constexpr (captures<stage_type>::nothing) return stage_knowledge::whole;
  else if constexpr (holds_only_values<stage_type>()) {
    using constant = typename constant_stage<std::remove_const_t<Bound>>::type;
    constexpr bool stays = runs_forward<constant, All> && runs_record<constant, All> == runs_record<Bound, All>;
    return stays ? stage_knowledge::whole : stage_knowledge::none;
  } else if constexpr (requires { requires captures<stage_type>::only_backward; }) return stage_knowledge::forward;
  else return stage_knowledge::none;
}

/// The stages of a chain, as far as they are known.   \tparam Given  the user's   \tparam Bound  as the sweep runs them
/// \tparam Bar  the adjoint of the last state
template <class Given, class Bound, class X0, class Bar, bool IsList = stage_list<Bound>>
struct stages_of_chain {
  using bound_stage = typename stage_access<Bound>::stage;
  using arguments = std::conditional_t<is_indexed<std::remove_const_t<Bound>>,
                                       stage_arguments<X0 const&, step_index const&>, stage_arguments<X0 const&>>;
  static constexpr stage_knowledge known =
      knowledge_of_stage<typename stage_access<Given>::stage, bound_stage, arguments>();
  static constexpr bool states_are_stored = written_state<X0> && std::is_default_constructible_v<X0>;
  static constexpr bool bars_are_stored = written_state<Bar> && std::is_default_constructible_v<Bar>;
};
template <class Given, class Bound, class X0, class Bar>
struct stages_of_chain<Given, Bound, X0, Bar, false> {
  static constexpr std::size_t size = std::tuple_size_v<std::remove_const_t<Bound>>;
  template <std::size_t Place> using state = typename state_in<Bound, X0, Place>::type;
  template <std::size_t Place> using bar = typename stage_at<Bound, X0, Bar, Place, size>::adjoint;
  template <class T>
  static constexpr bool is_stored = written_state<T> && std::is_default_constructible_v<T>;

  template <std::size_t... Place>
  static consteval stage_knowledge least_known(std::index_sequence<Place...>) {
    auto least = stage_knowledge::whole;
    for (auto const one : {stage_knowledge::whole,
                           knowledge_of_stage<stage_in<Given, Place>, stage_in<Bound, Place>,
                                              stage_arguments<state<Place> const&>>()...})
      if (one > least) least = one;
    return least;
  }
  template <std::size_t... Place>
  static consteval bool all_states(std::index_sequence<Place...>) {
    return written_state<X0> && (is_stored<state<Place + 1>> && ...);
  }
  template <std::size_t... Place>
  static consteval bool all_bars(std::index_sequence<Place...>) { return (is_stored<bar<Place>> && ...); }
  static constexpr stage_knowledge known = least_known(std::make_index_sequence<size>{});
  static constexpr bool states_are_stored = all_states(std::make_index_sequence<size>{});
  static constexpr bool bars_are_stored = all_bars(std::make_index_sequence<size + 1>{});
};
/// Refuses states that cannot be read back.
template <class Known>
[[nodiscard]] consteval bool check_stored_chain() {
  constexpr bool stored = Known::states_are_stored;
  static_assert(stored,
                "cairn: a chain on disk needs states with a default constructor whose bytes can all be written and "
                "read back; give them members write_state(sink) const and read_state(source)");
  return stored;
}
/// \param keyed  whether the user gave a key
template <class Known, bool SeedCaptures, bool Wrt>
[[nodiscard]] constexpr trust trust_in_chain(bool keyed) noexcept {
  if (!keyed) {
    if (Known::known == stage_knowledge::none)
      return {false, false,
              "a stage has variables of its own that are not all numbers, or its forward may change them, so that they "
              "may differ; give a key that names them"};
    if (!Wrt && Known::known == stage_knowledge::forward)
      return {true, false,
              "the backward of a stage has variables of its own, which may be sums; give these as cairn::wrt{p, dp}, "
              "or say cairn::reads_only{backward}"};
    if (SeedCaptures)
      return {true, false, "the seed has variables of its own, which may differ; give a key that names them"};
  }
  if (!Known::bars_are_stored)
    return {true, false,
            "the type of an adjoint cannot be read back: it needs a default constructor, and bytes that are known"};
  return {true, true};
}

/// Calls f with each stage that the user gave; with that of indexed_stages once.
template <class Stages, class Fn>
void each_stage(Stages& stages, Fn const& f) {
  if constexpr (is_indexed<std::remove_const_t<Stages>>) f(stages.stage);
  else if constexpr (stage_list<Stages>)
    for (std::size_t i = 0; i < std::size_t(stages.size()); ++i) f(std::as_const(stages[i]));
  else std::apply([&f](auto const&... one) { (f(one), ...); }, stages);
}
/// A hash of the variables that stages have, as far as these are values.
template <class Stages>
[[nodiscard]] run_id values_of_stages(Stages& stages) {
  id_sum sum;
  each_stage(stages, [&sum]<class Stage>(Stage const& one) {
    if constexpr (!captures<Stage>::nothing)
      if constexpr (holds_only_values<Stage>()) write_state(one, sum);
  });
  return sum.value();
}

/// Writes the states that a chain saves to it.
template <class Sink>
struct states_to_sink {
  Sink& sink;
  template <class State>
  void save(tier, step_index, State const& x) { write_exactly(x, sink); }
};
/// By which the run is known: its stages and their variables, plan, x0, parameters, key, seed, and what stage 0 makes
/// of x0.   \param values  of the stages
template <class Memory, class Last, class Parts, class Stages, class X0, class Actions>
[[nodiscard]] run_id id_of_chain(std::string const& key, Parts const& parts, run_id const& values, Stages& stages,
                                 X0 const& x0, Actions const& actions) {
  using of = parts_of<Last, Parts>;
  id_sum sum;
  step_index const count = Memory::count_of(stages);
  char const format[] = "chain 1";
  sum(format, sizeof format);
  sum.number(count);
  sum.number(std::uint64_t(actions.size()));
  action const* const list = actions.data();
  for (std::size_t k = 0; k < actions.size(); ++k) {
    sum.number(list[k].kind);
    sum.number(list[k].where);
    sum.number(list[k].what);
    sum.number(list[k].from);
  }
  write_exactly(x0, sum);
  if constexpr (of::seed_is_known) write_exactly(*parts.seed, sum);
  else add_function(sum, *parts.seed);
  add_params_and_key<of>(sum, parts, key);
  each_stage(*parts.step, [&sum](auto const& one) { add_function(sum, one); });
  sum.number(values.words[0]);
  sum.number(values.words[1]);
  if (count > 0) {
    Memory run{stages, x0};
    run.forward(0);
    states_to_sink<id_sum> to{sum};
    run.save(to, tier::memory, 1);
  }
  return sum.value();
}

}  // namespace cairn::detail
