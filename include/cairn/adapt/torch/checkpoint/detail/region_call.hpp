#pragma once
/// \file region_call.hpp  What a region calls and what it is called with: functions and modules, tensors and constants.
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
#include <cairn/core/detail/refused.hpp>

namespace cairn::libtorch::detail {

/// A module that is called by its forward: a holder such as `torch::nn::Linear`, or a std::shared_ptr to a module.
template <class F>
concept pointed_module = torch::detail::is_module_holder<F>::value || requires {
  requires std::same_as<F, std::shared_ptr<typename F::element_type>>;
  requires std::derived_from<typename F::element_type, torch::nn::Module>;
};
template <class F>
concept callable_module = pointed_module<F> || std::same_as<F, torch::nn::AnyModule>;

template <class F, class... Arguments>
concept calls_with = (pointed_module<F> &&
                      requires(F & f, Arguments const&... arguments) { f->forward(arguments...); }) ||
                     std::same_as<F, torch::nn::AnyModule> ||
                     (!callable_module<F> && std::is_invocable_v<F&, Arguments const&...>);
template <class F, class... Arguments>
decltype(auto) call_with(F& f, Arguments const&... arguments) {
  if constexpr (pointed_module<F>) return f->forward(arguments...);
  else if constexpr (callable_module<F>) return f.forward(arguments...);
  else return std::invoke(f, arguments...);
}
/// Whether f takes the elements of a tuple as its arguments.
template <class F, class Tuple>
inline constexpr bool takes_elements = false;
template <class F, class Tuple>
  requires requires { std::tuple_size<Tuple>::value; }
inline constexpr bool takes_elements<F, Tuple> = []<std::size_t... K>(std::index_sequence<K...>) {
  return calls_with<F, std::tuple_element_t<K, Tuple>...>;
}(std::make_index_sequence<std::tuple_size_v<Tuple>>{});
/// With one tuple: a function gets its elements where it takes these, a module the tuple where it takes that.
template <class F, class... Arguments>
inline constexpr bool is_unpacked = false;
template <class F, class Tuple>
inline constexpr bool is_unpacked<F, Tuple> = takes_elements<F, Tuple> && !(callable_module<F> && calls_with<F, Tuple>);

template <class F, class... Arguments>
decltype(auto) call_region(F& f, Arguments const&... arguments) {
  if constexpr (is_unpacked<F, Arguments...>)
    return std::apply([&](auto const&... element) -> decltype(auto) { return call_with(f, element...); }, arguments...);
  else return call_with(f, arguments...);
}

/// What an argument may be that has no tensors: a second run gets a copy.
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
/// Arguments like these, of the next tensors.
template <class... T>
[[nodiscard]] std::tuple<T...> read_arguments(std::tuple<T...> const& like, at::TensorList parts) {
  tensor_reader from{parts};
  return std::apply([&](auto const&... one) { return std::tuple<T...>{read_argument(one, from)...}; },
                    like);  // braces: from left to right
}

template <class Result, class... P>
std::type_identity<Result> declared_result(Result (*)(P...));
template <class Result, class Of, class... P>
std::type_identity<Result> declared_result(Result (Of::*)(P...));
template <class Result, class Of, class... P>
std::type_identity<Result> declared_result(Result (Of::*)(P...) const);
/// What a function, or the forward of a module, says that it returns, whatever it is called with; void where it has
/// more than one signature.
template <class F>
struct result_said { using type = void; };
template <class F>
  requires requires(F f) { declared_result(f); }
struct result_said<F> : decltype(declared_result(std::declval<F>())) {};
template <class F>
  requires(!std::derived_from<F, torch::nn::Module> && !pointed_module<F> &&
           requires { declared_result(&F::operator()); })
struct result_said<F> : decltype(declared_result(&F::operator())) {};
template <class F>
  requires(std::derived_from<F, torch::nn::Module> && requires { declared_result(&F::forward); })
struct result_said<F> : decltype(declared_result(&F::forward)) {};
template <class F>
  requires(pointed_module<F> && requires(F& f) { typename result_said<std::remove_cvref_t<decltype(*f)>>::type; })
struct result_said<F> : result_said<std::remove_cvref_t<decltype(*std::declval<F&>())>> {};

/// What a refused region would have given, as far as that is known: what f says, else something like the first argument
/// of tensors, else a tensor.
  template <class F, class... Arguments>
  using refused_region =
      typename cairn::detail::first_returned<std::remove_cvref_t<typename result_said<F>::type>,
                                             std::conditional_t<tensor_state<Arguments>, Arguments, void>...,
                                             at::Tensor>::type;

  /// The buffers that a second run of f leaves as they were, where f is a module.
  template <class F>
  [[nodiscard]] std::vector<at::Tensor> buffers_of_function(F& f) {
    if constexpr (pointed_module<F>) return f->buffers();
    else if constexpr (callable_module<F>) return f.ptr()->buffers();
    else return {};
}

}  // namespace cairn::libtorch::detail
