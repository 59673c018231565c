// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file sequence_traits.hpp  The inputs of a scan taken apart: sequences, and their elements.
#include <cstddef>
#include <tuple>
#include <utility>
#include <vector>
#include <cairn/adapt/torch/loop/detail/tensor_series.hpp>
#include <cairn/adapt/torch/state/tensor_state.hpp>
#include <cairn/core/action.hpp>
#include <cairn/core/error.hpp>

namespace cairn::libtorch::detail {

/// The same structure, with undefined tensors.
template <tensor_state State>
[[nodiscard]] State emptied(State const& x) { return state_of(x, tensor_list(tensors_of(x).size())); }

/// How a sequence is taken apart.
template <class Sequence>
struct sequence_traits {};
template <class Sequence>
using element_of = typename sequence_traits<Sequence>::element;

/// The rows of one tensor.
template <>
struct sequence_traits<at::Tensor> {
  using element = at::Tensor;
  static constexpr series_form form = series_form::stacked;
  [[nodiscard]] static step_index steps(char const* who, at::Tensor const& xs) {
    if (!xs.defined() || xs.dim() == 0)
      throw invalid_call{
          who, "an input has no first dimension to scan along", {}, "give a tensor [T, ...], or a vector of T tensors"};
    return xs.size(0);
  }
  static void flatten(char const*, at::Tensor const& xs, series_list& all) {
    all.emplace_back(form, xs.size(0), tensor_list{xs});
  }
  [[nodiscard]] static element like(at::Tensor const&) { return {}; }
};
/// The elements of a vector.
template <tensor_state Element>
struct sequence_traits<std::vector<Element>> {
  using element = Element;
  static constexpr series_form form = series_form::list;
  [[nodiscard]] static step_index steps(char const*, std::vector<Element> const& xs) { return step_index(xs.size()); }
  static void flatten(char const* who, std::vector<Element> const& xs, series_list& all) {
    if (xs.empty()) return;
    auto const count = tensors_of(xs.front()).size(), before = all.size();
    for (std::size_t q = 0; q < count; ++q) all.emplace_back(form, step_index(xs.size()));
    for (std::size_t i = 0; i < xs.size(); ++i) {
      auto const parts = tensors_of(xs[i]);
      if (parts.size() != count || !same_structure(xs.front(), xs[i]))
        throw invalid_call{who,
                           "the inputs of two steps have different parts",
                           {{"step", i}, {"its parts", parts.size()}, {"parts of step 0", count}},
                           "give each step as many tensors under the same keys; leave some undefined if need be"};
      for (std::size_t q = 0; q < count; ++q) all[before + q].put(step_index(i), parts[q]);
    }
  }
  [[nodiscard]] static element like(std::vector<Element> const& xs) { return emptied(xs.front()); }
};
/// For types that `std::get` takes apart.
template <class Sequences, class Element, class First>
struct sequences_traits {
  using element = Element;
  static constexpr series_form form = sequence_traits<First>::form;
  template <class Xs>
  [[nodiscard]] static step_index steps_of(char const* who, Xs const& xs) {
    return sequence_traits<Xs>::steps(who, xs);
  }
  template <class Xs>
  static void flatten_one(char const* who, Xs const& xs, series_list& all) {
    sequence_traits<Xs>::flatten(who, xs, all);
  }
  template <class Xs>
  [[nodiscard]] static auto like_one(Xs const& xs) { return sequence_traits<Xs>::like(xs); }

  [[nodiscard]] static step_index steps(char const* who, Sequences const& xs) {
    auto const first = steps_of(who, std::get<0>(xs));
    auto const check = [&](step_index other) {
      if (other != first)
        throw invalid_call{who,
                           "the inputs are of different lengths",
                           {{"steps of the first", first}, {"steps of another", other}},
                           ""};
    };
    std::apply([&](auto const&... one) { (check(steps_of(who, one)), ...); }, xs);
    return first;
  }
  static void flatten(char const* who, Sequences const& xs, series_list& all) {
    std::apply([&](auto const&... one) { (flatten_one(who, one, all), ...); }, xs);
  }
  [[nodiscard]] static element like(Sequences const& xs) {
    return std::apply([](auto const&... one) { return element{like_one(one)...}; }, xs);
  }
};
template <class First, class... Rest>
struct sequence_traits<std::tuple<First, Rest...>>
    : sequences_traits<std::tuple<First, Rest...>, std::tuple<element_of<First>, element_of<Rest>...>, First> {};
template <class First, class Second>
struct sequence_traits<std::pair<First, Second>>
    : sequences_traits<std::pair<First, Second>, std::pair<element_of<First>, element_of<Second>>, First> {};

}  // namespace cairn::libtorch::detail
