// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file model_call.hpp  The forms in which a model is called: with or without parameters, with a control, and with the
/// step's index, its data, or neither.
#include <type_traits>
#include <utility>
#include <cairn/adapt/ad/params.hpp>
#include <cairn/core/action.hpp>
#include <cairn/door/detail/user_function.hpp>

namespace cairn::detail {

template <class Params>
struct params_parts {
  using own = Params;
  using control = no_params;
  static constexpr bool controlled = false;
};
template <class Params, class Control>
struct params_parts<with_controls<Params, Control>> {
  using own = Params;
  using control = Control;
  static constexpr bool controlled = true;
};

/// A model whose steps depend on numbers from its `at(i)`, and not on their index.
template <class Model>
concept has_step_data = requires(Model const& model, step_index i) { model.at(i); };
/// Stands in the index's place for a model whose steps are all the same.
struct no_index {};

/// Calls the model's step in the form that its parameters require. \param i  the index, the result of `at(i)`, or
/// `no_index`
template <class Model, class State, class Plan, class U, class Index>
decltype(auto) call_model(Model const& model, State& x, Plan const& p, [[maybe_unused]] U const& u,
                          [[maybe_unused]] Index const& i) {
  if constexpr (std::is_same_v<Index, no_index>) {
    if constexpr (std::is_same_v<Plan, no_params> && std::is_same_v<U, no_params>) return model(x);
    else if constexpr (std::is_same_v<Plan, no_params>) return model(x, u);
    else if constexpr (std::is_same_v<U, no_params>) return model(x, p);
    else return model(x, p, u);
  } else if constexpr (std::is_same_v<Plan, no_params> && std::is_same_v<U, no_params>) return model(x, i);
  else if constexpr (std::is_same_v<Plan, no_params>) return model(x, u, i);
  else if constexpr (std::is_same_v<U, no_params>) return model(x, p, i);
  else return model(x, p, u, i);
}
/// Whether the model can be called in this form.
template <class Model, class State, class Plan, class U, class Index>
[[nodiscard]] consteval bool is_model() {
  if constexpr (std::is_same_v<Index, no_index>) {
    if constexpr (std::is_same_v<Plan, no_params> && std::is_same_v<U, no_params>)
      return requires(Model const& model, State& x) { model(x); };
    else if constexpr (std::is_same_v<Plan, no_params>)
      return requires(Model const& model, State& x, U const& u) { model(x, u); };
    else if constexpr (std::is_same_v<U, no_params>)
      return requires(Model const& model, State& x, Plan const& p) { model(x, p); };
    else return requires(Model const& model, State& x, Plan const& p, U const& u) { model(x, p, u); };
  } else if constexpr (std::is_same_v<Plan, no_params> && std::is_same_v<U, no_params>)
    return requires(Model const& model, State& x, Index const& i) { model(x, i); };
  else if constexpr (std::is_same_v<Plan, no_params>)
    return requires(Model const& model, State& x, U const& u, Index const& i) { model(x, u, i); };
  else if constexpr (std::is_same_v<U, no_params>)
    return requires(Model const& model, State& x, Plan const& p, Index const& i) { model(x, p, i); };
  else return requires(Model const& model, State& x, Plan const& p, U const& u, Index const& i) { model(x, p, u, i); };
}

/// The type that a step takes in the index's place: the result of the model's `at(i)`; the index itself; the index as a
/// number of the model's own scalar, for a model that takes `T const& i`; or `no_index`.
template <class Model, class State, class Plan, class U>
[[nodiscard]] consteval auto find_step_data() {
  if constexpr (has_step_data<Model>)
    return std::type_identity<std::remove_cvref_t<decltype(std::declval<Model const&>().at(0))>>{};
  else if constexpr (is_model<Model, State, Plan, U, step_index>()) return std::type_identity<step_index>{};
  else if constexpr (is_model<Model, State, Plan, U, double>()) return std::type_identity<double>{};
  else if constexpr (is_model<Model, State, Plan, U, no_index>()) return std::type_identity<no_index>{};
  else return std::type_identity<step_index>{};
}
template <class Model, class State, class Plan, class U>
using step_data_of = typename decltype(find_step_data<Model, State, Plan, U>())::type;

/// An argument of a model, or none.
template <class T>
[[nodiscard]] consteval auto argument_of_model() {
  if constexpr (std::is_same_v<T, no_params> || std::is_same_v<T, no_index>) return call_with<>{};
  else return counts_in(arguments<T>{});
}
/// What is wrong with a model that can be called in this form.
template <class Model, class State, class Plan, class U, class Index>
[[nodiscard]] consteval fault fault_of_model() {
  constexpr auto call =
      call_with<changes<State>>{} + argument_of_model<Plan>() + argument_of_model<U>() + argument_of_model<Index>();
  if constexpr (!std::is_void_v<typename result_with<Model const, std::remove_const_t<decltype(call)>>::type>)
    return fault::result;
  else return fault_of_call<Model const>(call);
}

}  // namespace cairn::detail
