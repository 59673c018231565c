// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file region_call.hpp  What a region may call, and with which arguments: functions and modules, tensors and
/// constants.
#include <concepts>
#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>
#include <ATen/core/Tensor.h>
#include <c10/core/Device.h>
#include <c10/core/Scalar.h>
#include <torch/nn/module.h>
#include <torch/nn/modules/container/any.h>
#include <torch/nn/pimpl.h>
#include <cairn/adapt/torch/state/detail/device_choice.hpp>
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

/// The types of arguments without tensors; the recomputation gets a copy.
template <class T>
concept plain_constant = std::is_arithmetic_v<T> || std::is_enum_v<T> || std::same_as<T, at::Scalar> ||
    std::same_as<T, at::Device> || std::same_as<T, std::string> || std::same_as<T, std::nullopt_t> ||
    (std::is_empty_v<T>&& std::convertible_to<T, device_choice> && !std::default_initializable<T>);  // c10's nullopt
template <class T>
concept region_constant = plain_constant<T> || (optional_value<T> && plain_constant<typename T::value_type>);
template <class T>
concept region_argument = tensor_state<T> || region_constant<T>;

template <region_argument T>
void append_argument(T const& argument, tensor_list& parts) {
  if constexpr (tensor_state<T>) append_tensors(argument, parts);
}
template <region_argument T>
[[nodiscard]] T read_argument(T const& like, tensor_reader& from) {
  if constexpr (tensor_state<T>) return read_tensors(like, from);
  else return like;
}
/// Arguments of the same types, made from the next tensors.
template <class... T>
[[nodiscard]] std::tuple<T...> read_arguments(std::tuple<T...> const& like, at::TensorList parts) {
  tensor_reader from{parts};
  return std::apply([&](auto const&... one) { return std::tuple<T...>{read_argument(one, from)...}; },
                    like);  // braces evaluate from left to right
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

  /// The buffers that a recomputation of f does not change, if f is a module.
  template <class Fn>
  [[nodiscard]] std::vector<at::Tensor> buffers_of_function(Fn& f) {
    if constexpr (pointed_module<Fn>) return f->buffers();
    else if constexpr (callable_module<Fn>) return f.ptr()->buffers();
    else return {};
}

}  // namespace cairn::libtorch::detail
