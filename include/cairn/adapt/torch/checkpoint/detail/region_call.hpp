// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file region_call.hpp  What a region may call: functions and modules.
#include <concepts>
#include <cstddef>
#include <functional>
#include <memory>
#include <tuple>
#include <type_traits>
#include <utility>
#include <ATen/core/Tensor.h>
#include <torch/nn/module.h>
#include <torch/nn/modules/container/any.h>
#include <torch/nn/pimpl.h>
#include <cairn/adapt/torch/state/tensor_state.hpp>
#include <cairn/door/detail/refused.hpp>

namespace cairn::libtorch::detail {

/// A module whose forward is called: a holder such as `torch::nn::Linear`, or a std::shared_ptr to a module.
template <class Fn>
concept pointed_module = torch::detail::is_module_holder<Fn>::value || requires {
  requires std::same_as<Fn, std::shared_ptr<typename Fn::element_type>>;
  requires std::derived_from<typename Fn::element_type, torch::nn::Module>;
};
template <class Fn>
concept callable_module = pointed_module<Fn> || std::same_as<Fn, torch::nn::AnyModule>;

template <class Fn, class... Arguments>
concept calls_with = (pointed_module<Fn> &&
                      requires(Fn & f, Arguments const&... arguments) { f->forward(arguments...); }) ||
                     std::same_as<Fn, torch::nn::AnyModule> ||
                     (!callable_module<Fn> && std::is_invocable_v<Fn&, Arguments const&...>);
template <class Fn, class... Arguments>
decltype(auto) call_with(Fn& f, Arguments const&... arguments) {
  if constexpr (pointed_module<Fn>) return f->forward(arguments...);
  else if constexpr (callable_module<Fn>) return f.forward(arguments...);
  else return std::invoke(f, arguments...);
}
/// Whether f takes the elements of a tuple as separate arguments.
template <class Fn, class Tuple>
inline constexpr bool takes_elements = false;
template <class Fn, class Tuple>
  requires requires { std::tuple_size<Tuple>::value; }
inline constexpr bool takes_elements<Fn, Tuple> = []<std::size_t... Places>(std::index_sequence<Places...>) {
  return calls_with<Fn, std::tuple_element_t<Places, Tuple>...>;
}(std::make_index_sequence<std::tuple_size_v<Tuple>>{});
/// Whether a single tuple is taken apart: a function gets its elements if it takes them; a module gets the tuple if it
/// takes that.
template <class Fn, class... Arguments>
inline constexpr bool is_unpacked = false;
template <class Fn, class Tuple>
inline constexpr bool is_unpacked<Fn, Tuple> =
    takes_elements<Fn, Tuple> && !(callable_module<Fn> && calls_with<Fn, Tuple>);

template <class Fn, class... Arguments>
decltype(auto) call_region(Fn& f, Arguments const&... arguments) {
  if constexpr (is_unpacked<Fn, Arguments...>)
    return std::apply([&](auto const&... element) -> decltype(auto) { return call_with(f, element...); }, arguments...);
  else return call_with(f, arguments...);
}

template <class Result, class... Plan>
std::type_identity<Result> declared_result(Result (*)(Plan...));
template <class Result, class Of, class... Plan>
std::type_identity<Result> declared_result(Result (Of::*)(Plan...));
template <class Result, class Of, class... Plan>
std::type_identity<Result> declared_result(Result (Of::*)(Plan...) const);
/// The declared result of a function, or of a module's forward, independent of its arguments; void if it has more than
/// one signature.
template <class Fn>
struct result_said { using type = void; };
template <class Fn>
  requires requires(Fn f) { declared_result(f); }
struct result_said<Fn> : decltype(declared_result(std::declval<Fn>())) {};
template <class Fn>
  requires(!std::derived_from<Fn, torch::nn::Module> && !pointed_module<Fn> &&
           requires { declared_result(&Fn::operator()); })
struct result_said<Fn> : decltype(declared_result(&Fn::operator())) {};
template <class Fn>
  requires(std::derived_from<Fn, torch::nn::Module> && requires { declared_result(&Fn::forward); })
struct result_said<Fn> : decltype(declared_result(&Fn::forward)) {};
template <class Fn>
  requires(pointed_module<Fn> && requires(Fn& f) { typename result_said<std::remove_cvref_t<decltype(*f)>>::type; })
struct result_said<Fn> : result_said<std::remove_cvref_t<decltype(*std::declval<Fn&>())>> {};

/// The likely result type of a refused region: the declared result of f, or the type of the first argument with
/// tensors, or a tensor.
  template <class Fn, class... Arguments>
  using refused_region =
      typename cairn::detail::first_returned<std::remove_cvref_t<typename result_said<Fn>::type>,
                                             std::conditional_t<tensor_state<Arguments>, Arguments, void>...,
                                             at::Tensor>::type;

}  // namespace cairn::libtorch::detail
